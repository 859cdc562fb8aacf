"""Finds gathers and scatters in which several ranks, or none, take themselves for the root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Kind, Problem
from distkb.evidence.readers.flight_recorder.track import COMPLETED

_ROOTED = frozenset(("gather", "scatter"))
_Key = tuple[int, str]
"""Number and operation of a call."""


class _Rooted(NamedTuple):
    """A gather or scatter of a group by its number: where each member stands in it, and who holds the root's list."""

    made: dict[int, At]
    held: list[At]


def wrong_root(group: ProcessGroup, tables: Tables) -> Problem | None:
    """Return the first open call of which more than one rank, or none of all, holds the list that only its root has.

    Who should be the root is told by the calls before. A broadcast does not show its root.
    """
    opened = [(track, at) for track in group.tracks.values() if (at := first_open(track)) is not None]
    if len(group.members) < 2 or not any(tables.calls[track.calls[at]].op in _ROOTED for track, at in opened):
        return None
    rooted: dict[_Key, _Rooted] = {}
    waiting: set[_Key] = set()
    for rank, track in group.tracks.items():
        for position, number in enumerate(track.calls):
            call = tables.calls[number]
            if call.op not in _ROOTED:
                continue
            key = (track.sequence[position], call.op)
            one = rooted.setdefault(key, _Rooted({}, []))
            one.made[rank] = At(rank=rank, position=position)
            waiting.update([key] if track.states[position] != COMPLETED else ())
            if _is_root(call, len(group.members)):
                one.held.append(one.made[rank])
    for key in sorted(waiting):
        made, held = rooted[key]
        if len(held) > 1:
            likely = _likely_roots(group, rooted, key)
            right = max(held, key=lambda at: (likely[at.rank], -at.rank))
            return _problem(group, key[0], "root", [at for at in held if at is not right], right)
        if not held and len(made) == len(group.members):
            (rank, _), *_ = _likely_roots(group, rooted, key).most_common(1) or [(-1, 0)]
            lacking = [made[rank]] if rank in made else []
            return _problem(group, key[0], "no-root", lacking, next(at for at in made.values() if at.rank != rank))
    return None


def _likely_roots(group: ProcessGroup, rooted: Mapping[_Key, _Rooted], key: _Key) -> Counter[int]:
    """Return how much speaks for each rank as the root of a call: it is that of others, or its turn has come.

    Where the root goes round, what counts is how many ranks further it was from the call before it to one like this.
    """
    likely = Counter(at.rank for one in rooted if one != key for at in rooted[one].held)
    place = {rank: number for number, rank in enumerate(group.members)}
    before = [(one[1], place[at.rank]) for one in sorted(rooted) if one < key for at in rooted[one].held]
    for (op, root), (after, turned) in pairwise(before):
        if (op, after) == (before[-1][0], key[1]):
            turn = (before[-1][1] + turned - root) % len(place)
            likely[group.members[turn]] += len(rooted)
    return likely


def _problem(group: ProcessGroup, sequence: int, kind: Kind, wrong: Sequence[At], right: At) -> Problem:
    shown = wrong[0] if wrong else None
    first = shown or right
    return Problem(
        kind=kind,
        group=group,
        sequence=sequence,
        culprits=tuple(sorted(at.rank for at in wrong)),
        others=(right.rank,),
        shown=shown,
        expected=right,
        order=group.tracks[first.rank].records[first.position],
    )


def _is_root(call: Call, members: int) -> bool:
    """Whether a rank holds the list of the root: ProcessGroupGloo records it as one tensor with a dimension more."""
    tensors, own = (call.outputs, call.inputs) if call.op == "gather" else (call.inputs, call.outputs)
    if call.backend == "gloo":
        return len(tensors) == 1 and bool(own) and tensors[0] == (members, *own[0])
    return len(tensors) == members
