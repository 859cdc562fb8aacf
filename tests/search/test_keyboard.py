"""Words typed with the keyboard in the other mode are read back, and nothing else is."""

from __future__ import annotations

import pytest

from distkb.knowledge import open_knowledge
from distkb.search.index import Index, load
from distkb.search.keyboard import keys_of, retyped, typed_as_hangul
from distkb.search.query import search


@pytest.fixture(scope="module")
def index() -> Index:
    """The index of the built-in catalogue."""
    return load(open_knowledge().search_index())


def test_every_syllable_is_typed_and_read_back() -> None:
    """The keys of each of the 11172 syllables give that syllable again, also with another one behind it."""
    for code in range(0xAC00, 0xD7A4):
        assert typed_as_hangul(keys_of(chr(code))) == chr(code)
        assert typed_as_hangul(keys_of(chr(code) + "어")) == chr(code) + "어"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("apahfl qnwhr", "메모리 부족"),
        ("qofldjdptj ajacnj?", "배리어에서 멈춰?"),
        ("cpzmvhdlsxm wjwkd", "체크포인트 저장"),
        ("ㅜㅊ치 ㅗ뭏", "nccl hang"),
        ("ㅇㅇㅔ", "ddp"),
    ],
)
def test_what_was_typed_in_the_other_mode_is_read_back(index: Index, typed: str, meant: str) -> None:
    """Korean typed as letters, and English typed as jamo."""
    assert retyped(index, typed) == meant
    assert search(index, typed) == search(index, meant)


@pytest.mark.parametrize(
    "text",
    [
        "안되네요ㅠㅠ 왜 ㅋㅋㅋ",
        "ㅇㅇ dd ㄴㄴ",
        "fork slurm hang apahfl_size 메모리ㄱ",
        "배리어에서 멈춰요",
        "--nnodes 2",
        "",
    ],
)
def test_everything_else_stays(index: Index, text: str) -> None:
    """Laughter, names, and words of either language are what they are."""
    assert retyped(index, text) == text
