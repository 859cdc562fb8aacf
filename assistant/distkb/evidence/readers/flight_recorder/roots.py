"""Finds gathers and scatters in which several ranks take themselves for the root."""

from __future__ import annotations

from collections import Counter

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import COMPLETED, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem

_ROOTED = frozenset(("gather", "scatter"))


def roots_differ(group: ProcessGroup, tables: Tables) -> Problem | None:
    """Return the first open call of which more than one rank holds the list that only its root has.

    Who is the root elsewhere in the recording is taken for right. A broadcast does not show its root.
    """
    opened = [(track, at) for track in group.tracks.values() if (at := first_open(track)) is not None]
    if len(group.members) < 3 or not any(tables.calls[track.calls[at]].op in _ROOTED for track, at in opened):
        return None
    held: dict[tuple[int, str], list[At]] = {}
    waiting: set[tuple[int, str]] = set()
    usual: Counter[int] = Counter()
    for rank, track in group.tracks.items():
        for at, number in enumerate(track.calls):
            call = tables.calls[number]
            if call.op not in _ROOTED:
                continue
            key = (track.sequence[at], call.op)
            waiting.update([key] if track.states[at] != COMPLETED else ())
            if _is_root(call, len(group.members)):
                held.setdefault(key, []).append(At(rank=rank, position=at))
                usual[rank] += 1
    for key in sorted(waiting & held.keys()):
        ranks = [at.rank for at in held[key]]
        if len(ranks) < 2:
            continue
        right = max(ranks, key=lambda rank: (usual[rank], -rank))
        shown = next(at for at in held[key] if at.rank != right)
        return Problem(
            kind="root",
            group=group,
            sequence=key[0],
            culprits=tuple(sorted(rank for rank in ranks if rank != right)),
            others=(right,),
            shown=shown,
            expected=next(at for at in held[key] if at.rank == right),
            order=group.tracks[shown.rank].records[shown.position],
        )
    return None


def _is_root(call: Call, members: int) -> bool:
    return len(call.outputs if call.op == "gather" else call.inputs) == members
