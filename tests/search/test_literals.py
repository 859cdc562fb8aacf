"""Literals that a pattern cannot match without."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.search.literals import literal_text, required_literals


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"Address already in use", ("address already in use",)),
        (r"rank (?P<rank>\d+) has timed out", (" has timed out",)),
        (r"(?:deadline|timed out) x", ("deadline", "timed out")),
        (r"(?i)TimeOut", ("timeout",)),
        (r"x*\d+", ()),
        (r"(?:abc|\d+)", ()),
        (r"a?bcd", ("bcd",)),
        (r"(?:longer text)?", ()),
    ],
)
def test_required_literals(pattern: str, literals: tuple[str, ...]) -> None:
    """The literals must be the surest test that the pattern allows."""
    assert required_literals(pattern) == literals


@given(st.from_regex(r"(?:abc|bcd)x{0,2}(?P<rank>\d+)? failed (?:hard|soft)[.!]", fullmatch=True))
def test_every_match_has_a_literal(text: str) -> None:
    """No text that the pattern matches may be without one of its literals."""
    pattern = r"(?:abc|bcd)x{0,2}(?P<rank>\d+)? failed (?:hard|soft)[.!]"
    assert re.search(pattern, text)
    assert any(literal in text.lower() for literal in required_literals(pattern))


def test_literal_text_keeps_the_words() -> None:
    """What is indexed of a pattern must be its words."""
    assert literal_text(r"\[Rank (?P<rank>\d+)\] Watchdog caught\s+(?:a|one) timeout") == (
        "[Rank ] Watchdog caught a one timeout"
    )


def test_a_pattern_that_re_refuses_needs_no_literal() -> None:
    """It has no list, so that nothing is tried with it."""
    assert required_literals(r"abcdef(b)?") == ("abcdef",)
    assert required_literals(r"abcdef(") == ()
