"""Which rows of a table of numbers tell its course: the first, the last, and those at which a number turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite


def turns(columns: Sequence[Sequence[float]], rows: int, most: int) -> list[int]:
    """Return at most `most` rows in order, those first from which a straight line between the others is farthest off.

    A number that only counts lies on its line, and chooses nothing.
    """
    if rows <= most:
        return list(range(rows))
    chosen = [0, rows - 1]
    scales = [max(column) - min(column) if all(map(isfinite, column)) else 0.0 for column in columns]
    moving = [(column, scale) for column, scale in zip(columns, scales, strict=True) if scale > 0 and isfinite(scale)]
    while len(chosen) < most:
        best = max(
            (_farthest(column, scale, low, high) for column, scale in moving for low, high in _gaps(chosen)),
            default=(0.0, rows // 2),
        )
        at = best[1] if best[0] > 1e-9 else _widest(chosen)
        if at in chosen:
            break
        chosen = sorted((*chosen, at))
    return chosen


def _gaps(chosen: Sequence[int]) -> list[tuple[int, int]]:
    return [(low, high) for low, high in pairwise(chosen) if high - low > 1]


def _farthest(column: Sequence[float], scale: float, low: int, high: int) -> tuple[float, int]:
    """Return how far a row lies off the line between two others, as a share of all that the number moves, and which."""
    slope = (column[high] - column[low]) / (high - low)
    return max((abs(column[at] - column[low] - slope * (at - low)) / scale, at) for at in range(low + 1, high))


def _widest(chosen: Sequence[int]) -> int:
    low, high = max(pairwise(chosen), key=lambda gap: gap[1] - gap[0])
    return (low + high) // 2
