"""Widths and wrapping of text that mixes Latin words and Hangul, and what untrusted text loses."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.report.layout import clean, cut, fold, pad, width, wrap

MIXED = st.text(alphabet="ab /-_.`랭크배리어\u0301 é漢", max_size=120)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("랭크", 4), ("rank 0의", 8), ("e\u0301", 1), ("漢字", 4), ("ﾊﾝ", 2), ("", 0), ("`torchrun`으로", 14)],
)
def test_width_counts_terminal_columns(text: str, columns: int) -> None:
    """Hangul and Han take two columns, combining marks none, everything else one."""
    assert width(text) == columns


@given(MIXED, st.integers(min_value=24, max_value=80))
def test_wrapped_lines_fit_unless_one_word_is_longer(text: str, columns: int) -> None:
    """A line exceeds the width only where a single Latin word or path does."""
    for line in wrap(text, columns, "  - ", "    "):
        word = line.removeprefix("  - ").strip()
        assert width(line) <= columns or (" " not in word and not any(width(c) == 2 for c in word))


@given(MIXED, st.integers(min_value=24, max_value=80))
def test_wrapping_loses_nothing_but_spaces(text: str, columns: int) -> None:
    """The words come out in their order, none changed."""
    joined = "".join(wrap(text, columns)).replace(" ", "")
    assert joined == "".join(text.split())


def test_code_in_backticks_stays_on_one_line() -> None:
    """A command in running text can be read and copied as a whole."""
    lines = wrap("run the command `torchrun --nproc-per-node 2 train.py` now", 44)
    assert lines == ["run the command", "`torchrun --nproc-per-node 2 train.py` now"]


def test_a_path_longer_than_the_line_stays_whole() -> None:
    """A path is never broken, however narrow the page."""
    path = "/data/" + "a" * 60 + "/rank0.log"
    assert path in wrap(f"see {path} there", 40)


def test_a_long_run_of_hangul_breaks_between_syllables() -> None:
    """Hangul without spaces still fits the page."""
    assert wrap("가나다라마바사", 8) == ["가나다라", "마바사"]


def test_continuation_lines_hang_under_the_text() -> None:
    """Lines after the first begin where the text of the first begins, Hangul marks counted right."""
    first, second = wrap("하나 둘 셋", 13, "  해결: ")
    assert first == "  해결: 하나"
    assert second == "        둘 셋"


@given(MIXED, st.integers(min_value=8, max_value=60), st.integers(min_value=1, max_value=4))
def test_folded_quotes_fit_and_keep_their_words(text: str, columns: int, lines: int) -> None:
    """A folded quote is verbatim up to where it is cut, and only a single word makes a line too wide."""
    pieces = fold(text, columns, lines)
    assert len(pieces) <= lines
    assert all(width(piece.rstrip()) <= columns or len(piece.split()) == 1 for piece in pieces[:-1])
    whole = "".join(pieces)
    assert whole == text or text.startswith("".join(pieces[:-1]) + pieces[-1].removesuffix("…")) or not text.strip()


def test_cut_and_pad_count_columns() -> None:
    """Cutting and padding agree with the terminal on Hangul."""
    assert cut("배리어에서 멈춤", 9) == "배리어에…"
    assert cut("rank 0 waits for rank 1", 14) == "rank 0 waits…"
    assert pad("랭크", 6) == "랭크  "
    assert pad("랭크", 2) == "랭크"


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x9b2Jclear", "clear"),
        ("\x1b", ""),
        ("a\x00b\x07c\x08d\x7fe", "abcde"),
        ("user\u202eevil\u202c\u2066x\u2069", "userevilx"),
        ("one\ntwo\r\nthree\u2028four", "one two three four"),
        ("[red]markup[/red]", "[red]markup[/red]"),
        ("bad\udcffbyte", "bad\ufffdbyte"),
        ("멈춤 그대로", "멈춤 그대로"),
    ],
)
def test_untrusted_text_loses_what_a_terminal_interprets(dirty: str, expected: str) -> None:
    """Escape sequences, control characters and reordering marks go; words stay."""
    assert clean(dirty) == expected


@given(st.text())
def test_clean_text_is_one_harmless_line(text: str) -> None:
    """Whatever goes in, no control, format or surrogate character comes out."""
    cleaned = clean(text)
    assert not {unicodedata.category(c) for c in cleaned} & {"Cc", "Cf", "Cs"}
    cleaned.encode()
