"""How many tokens of a language model a text may cost, counted rather too high than too low."""

from __future__ import annotations

import re

_PIECES = re.compile(r"[A-Za-z]+|\d+|[^\x00-\x7f]| {2,}|\n+|[^\w\s]")
_LETTERS, _DIGITS = 5, 3
"""Letters and digits that a token holds at least, on average."""


def tokens(text: str) -> int:
    """Return how many tokens a text is at most, for the usual byte-pair vocabularies.

    Words are counted by their letters, numbers by their digits; marks, syllables and wide blanks count one each.
    """
    return sum(_cost(piece) for piece in _PIECES.findall(text))


def _cost(piece: str) -> int:
    if piece.isascii() and piece.isalpha():
        return -(-len(piece) // _LETTERS)
    return -(-len(piece) // _DIGITS) if piece.isdecimal() else 1
