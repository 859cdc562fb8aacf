"""The tokens of English, Korean and mixed text."""

from __future__ import annotations

import json
import unicodedata

import pytest
from golden_inputs import GOLDEN, golden
from hypothesis import given
from hypothesis import strategies as st

from distkb.search.tokens import MAX_CHARS, pieces, stem, tokenize


def texts(text: str) -> list[str]:
    """Tokens without their kinds."""
    return [token.text for token in tokenize(text)]


def test_tokens_are_those_of_the_golden_file() -> None:
    """The golden file, which the JavaScript tokenizer is held to, must come out exactly."""
    assert golden() == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("word", ["torchrun", "NCCL", "LOCAL_RANK"])
@pytest.mark.parametrize("particle", ["으로", "를", "이", "에서는", "인데", ""])
def test_particle_after_latin_word_changes_nothing(word: str, particle: str) -> None:
    """A particle glued to a Latin word must not change the word's tokens."""
    assert tokenize(word + particle) == tokenize(word)


def test_decomposed_and_full_width_text_equals_the_plain_one() -> None:
    """NFD Hangul and full-width Latin must give the tokens of the usual spelling."""
    plain = "배리어에서 FSDP 멈춤 12"
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in plain)
    assert tokenize(unicodedata.normalize("NFD", plain)) == tokenize(plain)
    assert tokenize(wide) == tokenize(plain)


def test_names_are_kept_whole_and_split() -> None:
    """A variable's or class's name must be findable whole and by its parts."""
    assert {"nccl_debug", "nccl", "debug"} <= set(texts("NCCL_DEBUG"))
    assert {"distributeddataparallel", "data", "parallel"} <= set(texts("DistributedDataParallel"))
    assert texts("--nproc-per-node") == texts("--nproc_per_node")


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("hangs", "hang"),
        ("hanging", "hang"),
        ("batches", "batch"),
        ("copies", "copy"),
        ("stopped", "stop"),
        ("killed", "kill"),
        ("loss", "loss"),
        ("bus", "bus"),
        ("string", "string"),
        ("need", "need"),
        ("saved", "sav"),
        ("save", "sav"),
        ("fp16", "fp16"),
    ],
)
def test_stem(word: str, stemmed: str) -> None:
    """Inflections of a word must meet, and words that only look inflected must stay."""
    assert stem(word) == stemmed


def test_negative_numbers_are_told_from_ranges() -> None:
    """`-9` is a negative exit code after a space, and a range or difference after a digit or bracket."""
    assert "-9" in texts("exitcode: -9")
    assert "-9" in texts("-9")
    assert "-9" not in texts("5-9")
    assert "-1" not in texts("x[0]-1")


@given(st.text())
def test_any_text_has_tokens_of_bounded_size(text: str) -> None:
    """No text may raise, and no token may be empty or longer than the normalised text."""
    longest = len(unicodedata.normalize("NFKC", text)) + 1
    assert all(0 < len(token.text) <= longest for token in tokenize(text))


@given(st.text(alphabet="ab_-.: 가나에서ZE01", max_size=40))
def test_tokens_do_not_depend_on_surrounding_space(text: str) -> None:
    """White space around a text must not change its tokens."""
    assert tokenize(f"  {text}\n") == tokenize(text)


def test_text_beyond_the_limit_is_not_read() -> None:
    """A text of a megabyte must be cut, not scanned."""
    assert len(pieces("a " * 600_000)) == MAX_CHARS // 2
