"""Ranks as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def listed(ranks: Sequence[int]) -> str:
    """Return ranks as people write them: `0-2, 5`."""
    pieces: list[str] = []
    run: list[int] = []
    for rank in [*sorted(set(ranks)), -2]:
        if run and rank != run[-1] + 1:
            pieces.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
        run.append(rank)
    shown = pieces[:8]
    return ", ".join(shown) + (", …" if len(pieces) > len(shown) else "")
