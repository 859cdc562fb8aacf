"""Says whether a rank made a call where it always made another one before: a training loop repeats itself."""

from __future__ import annotations

from collections.abc import Sequence

from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup

_CONTEXTS = (3, 2, 1)
"""Calls before one that must be the same for it to be expected again: the longest that occurred decides."""
_MOST = 4000
"""Calls of a rank that are compared."""

_Call = tuple[str, str, int, int]
"""Name of the group, operation, and the ranks of a send or receive."""


def is_unusual(rank: int, record: int, groups: Sequence[ProcessGroup], tables: Tables) -> bool:
    """Return whether the call with this number of the rank's own order never came behind what it came behind now."""
    calls = _history(rank, record, groups, tables)
    for length in _CONTEXTS:
        before = calls[-1 - length : -1]
        seen = [
            calls[at]
            for at in range(length, len(calls) - 1)
            if calls[at - length : at] == before and len(before) == length
        ]
        if seen:
            return len(set(seen)) == 1 and seen[0] != calls[-1]
    return False


def _history(rank: int, record: int, groups: Sequence[ProcessGroup], tables: Tables) -> list[_Call]:
    """Return what a rank called up to one of its calls, in its own order."""
    found: list[tuple[int, _Call]] = []
    for group in groups:
        name = group.key.desc or group.key.name
        for track in (group.tracks.get(rank), group.peers.get(rank)):
            if track is not None:
                for at, number in zip(track.records, track.calls, strict=True):
                    if at <= record:
                        call = tables.calls[number]
                        found.append((at, (name, call.op, call.source, call.target)))
    return [call for _, call in sorted(found)[-_MOST:]]
