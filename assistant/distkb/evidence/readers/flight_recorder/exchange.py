"""Checks all_to_all, whose shapes may differ between ranks: all that is sent must be all that is received."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import COMPLETED, RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem

_OPERATIONS = frozenset(("all_to_all", "all_to_allv", "all_to_all_single", "all_to_all_v_single"))
_BUDGET = 2_000_000
"""Calls that are looked at; of many ranks only the last ones."""


def uneven(group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> Problem | None:
    """Return the first all_to_all over all members that does not send as many elements as it receives."""
    numbers = {number for number, call in enumerate(tables.calls) if call.op in _OPERATIONS and call.inputs}
    if not numbers or not group.members_known or not all(rank in dumps for rank in group.members):
        return None
    sums: dict[int, tuple[int, int, int]] = {}
    first: dict[int, At] = {}
    depth = max(16, _BUDGET // len(group.members))
    for rank, track in group.tracks.items():
        for at in range(max(0, len(track) - depth), len(track)):
            if track.calls[at] in numbers:
                sequence, call = track.sequence[at], tables.calls[track.calls[at]]
                count, sent, received = sums.get(sequence, (0, 0, 0))
                sums[sequence] = count + 1, sent + _elements(call, 0), received + _elements(call, 1)
                first.setdefault(sequence, At(rank=rank, position=at))
    for sequence in sorted(sums):
        count, sent, received = sums[sequence]
        if count == len(group.members) and sent != received:
            shown = first[sequence]
            return Problem(
                kind="exchange",
                group=group,
                sequence=sequence,
                culprits=_waiting(group, sequence) or group.members,
                expected=shown,
                order=group.tracks[shown.rank].records[shown.position],
                detail={"sent": str(sent), "received": str(received)},
            )
    return None


def _waiting(group: ProcessGroup, sequence: int) -> tuple[int, ...]:
    """Return the members on which a call has not ended: who gets what was sent goes on."""
    found = []
    for rank, track in group.tracks.items():
        at = bisect_left(track.sequence, sequence)
        if at < len(track) and track.sequence[at] == sequence and track.states[at] != COMPLETED:
            found.append(rank)
    return tuple(sorted(found))


def _elements(call: Call, side: int) -> int:
    return sum(math.prod(shape) for shape in (call.outputs if side else call.inputs))
