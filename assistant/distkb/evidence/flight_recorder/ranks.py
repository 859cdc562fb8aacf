"""Sets of ranks as people write them: `0-2, 4-7`."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = 12


def compress(ranks: Iterable[int], shown: int = _SHOWN) -> str:
    """Return ranks in order with runs joined; after `shown` pieces the rest is left out with an ellipsis."""
    pieces: list[str] = []
    first = last = None
    for rank in sorted(set(ranks)):
        if last is not None and rank == last + 1:
            last = rank
            continue
        if first is not None and last is not None:
            pieces.append(_piece(first, last))
        first = last = rank
    if first is not None and last is not None:
        pieces.append(_piece(first, last))
    if len(pieces) > shown:
        pieces = [*pieces[:shown], "…"]
    return ", ".join(pieces)


def _piece(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"
