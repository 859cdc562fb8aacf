"""Numbers and sorted words as text that compresses well and that a script unpacks in a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in "\"'<\\/")
"""Characters that neither JSON nor a script has to escape, and that make no address; a script reads them as digits."""
_LAST = 57
"""The first 57 end a number; the other 32 are higher digits, of five bits, that come before."""


@cache
def number(value: int) -> str:
    """Return a number from 0: one character below 57, two below 1824, three below 58368."""
    rest, last = divmod(value, _LAST)
    text = ALPHABET[last]
    while rest:
        text = ALPHABET[_LAST + rest % 32] + text
        rest //= 32
    return text


def numbers(values: Iterable[int]) -> str:
    """Return numbers one after another."""
    return "".join(map(number, values))


def signed(value: int) -> int:
    """Return a number of either sign as one from 0, small where it is near 0."""
    return 2 * value if value >= 0 else -2 * value - 1


def steps(values: Iterable[int]) -> list[int]:
    """Return how far each of rising numbers is beyond the next possible one."""
    out: list[int] = []
    last = -1
    for value in values:
        out.append(value - last - 1)
        last = value
    return out


def fronts(words: Iterable[str]) -> str:
    """Return sorted words one a line, each without the beginning that it shares with the one before.

    How long that is stands first, as one character.
    """
    lines: list[str] = []
    last = ""
    for word in words:
        same = 0
        while same < min(len(word), len(last), _LAST - 1) and word[same] == last[same]:
            same += 1
        lines.append(ALPHABET[same] + word[same:])
        last = word
    return "\n".join(lines)
