"""Ranks as people write them: `0-3,7`, and which of them differ from the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping


def spans(ranks: Iterable[int]) -> str:
    """Write ranks shortly: `0-3,7`."""
    parts: list[str] = []
    ordered = sorted(set(ranks))
    start = 0
    for index, rank in enumerate(ordered):
        if index + 1 < len(ordered) and ordered[index + 1] == rank + 1:
            continue
        first = ordered[start]
        parts.append(str(first) if first == rank else f"{first}-{rank}")
        start = index + 1
    return ",".join(parts)


def classes(by_rank: Mapping[int, Hashable]) -> list[list[int]]:
    """Return the ranks grouped by equal value: the largest group first, of two equal ones that with the lowest rank."""
    groups: dict[Hashable, list[int]] = {}
    for rank in sorted(by_rank):
        groups.setdefault(by_rank[rank], []).append(rank)
    return sorted(groups.values(), key=lambda ranks: (-len(ranks), ranks[0]))


def odd_ones(by_rank: Mapping[int, Hashable]) -> tuple[list[int], list[int]]:
    """Return the ranks whose value is not that of the largest group, and the largest group."""
    groups = classes(by_rank)
    if not groups:
        return [], []
    return sorted(rank for group in groups[1:] for rank in group), groups[0]
