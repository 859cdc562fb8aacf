"""Ranks as people write them."""

from __future__ import annotations

from collections.abc import Iterable

MOST_RANKS = 1 << 17
"""Ranks of a run that are believed and enumerated: a larger number in a text is damage, or somebody's joke."""
SHOWN = 12
"""Pieces after which a scattered set of ranks is cut."""


def listed(ranks: Iterable[int], shown: int = SHOWN) -> str:
    """Return ranks in order with runs joined: `0-2, 5`; after `shown` pieces the rest is an ellipsis."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    pieces = [_piece(first, last) for first, last in runs[:shown]]
    return ", ".join([*pieces, "…"] if len(runs) > shown else pieces)


def _piece(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"
