"""Matches sends with receives: between two ranks they pair in the order in which they were called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import COMPLETED, RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem

_MAX_FOUND = 64


class _Operation(NamedTuple):
    rank: int
    position: int
    is_open: bool
    call: Call


def unmatched(group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> list[Problem]:
    """Return sends without a receive, receives without a send, and pairs whose sizes differ."""
    sends: dict[tuple[int, int], list[_Operation]] = defaultdict(list)
    receives: dict[tuple[int, int], list[_Operation]] = defaultdict(list)
    anybody: dict[int, int] = defaultdict(int)
    for rank, track in group.peers.items():
        for position, number in enumerate(track.calls):
            call = tables.calls[number]
            if call.source < 0:
                anybody[rank] += call.is_from_anybody
                continue
            operation = _Operation(rank, position, track.states[position] != COMPLETED, call)
            (sends if call.op == "send" else receives)[call.source, call.target].append(operation)
    problems: list[Problem] = []
    for pair in sorted({*sends, *receives}):
        problem = _pair(group, dumps, pair, sends.get(pair, []), receives.get(pair, []))
        if problem is None:
            continue
        if problem.shown is None and anybody[problem.culprits[0]] > 0:
            anybody[problem.culprits[0]] -= 1
            continue
        problems.append(problem)
    problems.sort(key=lambda problem: problem.order)
    return problems[:_MAX_FOUND]


def _pair(
    group: ProcessGroup,
    dumps: Mapping[int, RankDump],
    pair: tuple[int, int],
    sends: list[_Operation],
    receives: list[_Operation],
) -> Problem | None:
    ends = [_global(group, end) for end in pair]
    if any(end not in dumps for end in ends):
        return None
    if any(dumps[end].first_record > 0 for end in ends):
        # Where older calls were dropped, only what has not completed can be paired.
        sends, receives = [s for s in sends if s.is_open], [r for r in receives if r.is_open]
    for send, receive in zip(sends, receives, strict=False):
        if _disagree(send, receive):
            return _problem(group, send, receive, ends)
    if len(sends) == len(receives):
        return None
    longer, shorter = (sends, receives) if len(sends) > len(receives) else (receives, sends)
    left = [operation for operation in longer[len(shorter) :] if operation.is_open]
    return _problem(group, left[0], None, ends) if left else None


def _disagree(send: _Operation, receive: _Operation) -> bool:
    """Whether two calls cannot be one transfer: by their sizes, or by their types where it has not come through."""
    one, other = send.call, receive.call
    if one.inputs != other.outputs and one.inputs and other.outputs:
        return True
    is_open = send.is_open or receive.is_open
    return is_open and one.input_dtypes != other.output_dtypes and bool(one.input_dtypes and other.output_dtypes)


def _global(group: ProcessGroup, end: int) -> int:
    return group.members[end] if group.members_known and 0 <= end < len(group.members) else end


def _problem(group: ProcessGroup, one: _Operation, other: _Operation | None, ends: list[int]) -> Problem:
    track = group.peers[one.rank]
    peer = ends[1] if one.call.op == "send" else ends[0]
    return Problem(
        kind="peer",
        group=group,
        sequence=track.sequence[one.position],
        culprits=(peer,) if other is None else tuple(sorted((one.rank, peer))),
        others=(one.rank,),
        expected=At(rank=one.rank, position=one.position, is_peer=True),
        shown=None if other is None else At(rank=other.rank, position=other.position, is_peer=True),
        order=track.records[one.position],
        detail={"from": str(ends[0]), "to": str(ends[1])},
    )
