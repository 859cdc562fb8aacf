"""Short pieces of text by which a script finds, among many patterns, those that a line may match."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

PIECE = 4
"""Characters of a piece: shorter ones are found everywhere, longer ones are shared by fewer patterns."""


def _pieces(text: str) -> set[str]:
    if len(text) <= PIECE:
        return {text}
    return {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}


def cover(needed: Sequence[Iterable[str] | None], common: Mapping[str, int]) -> tuple[list[str], list[list[int]]]:
    """Choose few short pieces, seldom in other text, of which every needed literal contains one.

    Return the pieces, in lower case, and for each set of literals the numbers of its pieces.
    """
    literals = {literal.lower() for some in needed for literal in some or ()}
    holders: dict[str, set[str]] = {}
    for literal in sorted(literals):
        for piece in _pieces(literal):
            holders.setdefault(piece, set()).add(literal)
    weight = {piece: 1.0 / (1 + common.get(piece, 0)) for piece in holders}
    waiting = [(-len(found) * weight[piece], piece) for piece, found in holders.items()]
    heapq.heapify(waiting)
    left = set(literals)
    piece_of: dict[str, str] = {}
    while left:
        worth, piece = heapq.heappop(waiting)
        now = -len(holders[piece] & left) * weight[piece]
        if now > worth:  # others have taken some of its literals since
            if now:
                heapq.heappush(waiting, (now, piece))
            continue
        for literal in holders[piece] & left:
            piece_of[literal] = piece
        left -= holders[piece]
    pieces = sorted(set(piece_of.values()))
    number = {piece: index for index, piece in enumerate(pieces)}
    chosen = [sorted({number[piece_of[literal.lower()]] for literal in some or ()}) for some in needed]
    return pieces, chosen
