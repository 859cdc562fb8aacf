"""Commands to copy: values from the environment are put in as words, never as shell."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.report.probe import quoted


@pytest.mark.parametrize(
    "value", ["eth0", "RANK WORLD_SIZE", "a.b:29500", "'two words'", "/usr/bin/python3.11", "3600"]
)
def test_plain_words_stay_as_they_are(value: str) -> None:
    """A command reads as one would type it."""
    assert quoted(value) == value


@pytest.mark.parametrize("value", ["$(reboot)", "`id`", "a;b", "x' ; reboot '", "a\nb", "~x", "*", "&"])
def test_what_a_shell_would_interpret_is_quoted(value: str) -> None:
    """What stands in a variable is never run by copying a command."""
    assert shlex.split(f"export NAME={quoted(value)}") == ["export", f"NAME={value}"]


@given(st.text(st.characters(exclude_characters="\x00", codec="utf-8")))
def test_a_quoted_value_never_ends_a_command(value: str) -> None:
    """Whatever the value, the shell sees words only."""
    once = quoted(value)
    assert quoted(once) == once
