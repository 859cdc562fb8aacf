"""Matches sends with receives: between two ranks they pair in the order in which they were called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import COMPLETED, RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Kind, Problem

_MAX_FOUND = 64


class _Operation(NamedTuple):
    rank: int
    position: int
    is_open: bool
    call: Call


def unmatched(group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> list[Problem]:
    """Return what is wrong between two ranks: a call that one lacks, other sizes, a transfer that does not end."""
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
        if problem.kind == "peer" and anybody[problem.culprits[0]] > 0:
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
    is_whole = all(dumps[end].first_record == 0 for end in ends)
    if not is_whole:
        # Where older calls were dropped, only what has not completed can be paired.
        sends, receives = [s for s in sends if s.is_open], [r for r in receives if r.is_open]
    for send, receive in zip(sends, receives, strict=False):
        if _disagree(send, receive):
            return _problem(group, "peer-size", send, receive, ends)
        if send.is_open and receive.is_open:
            return _problem(group, "transfer", send, receive, ends)
    longer, shorter = (sends, receives) if len(sends) > len(receives) else (receives, sends)
    left = next((operation for operation in longer[len(shorter) :] if operation.is_open), None)
    if left is None:
        return None
    problem = _problem(group, "peer", left, None, ends)
    problem.is_first_of_pair = is_whole and not shorter
    return problem


def _disagree(send: _Operation, receive: _Operation) -> bool:
    """Whether two calls cannot be one transfer: by their sizes, or by their types where it has not come through."""
    one, other = send.call, receive.call
    if one.inputs != other.outputs and one.inputs and other.outputs:
        return True
    is_open = send.is_open or receive.is_open
    return is_open and one.input_dtypes != other.output_dtypes and bool(one.input_dtypes and other.output_dtypes)


def _global(group: ProcessGroup, end: int) -> int:
    return group.members[end] if group.members_known and 0 <= end < len(group.members) else end


def _problem(group: ProcessGroup, kind: Kind, one: _Operation, other: _Operation | None, ends: list[int]) -> Problem:
    """Return the problem of one pair; of a call without its other half, the rank that lacks it is the culprit."""
    track = group.peers[one.rank]
    peer = ends[1] if one.call.op == "send" else ends[0]
    last = len(group.peers.get(peer, ())) - 1
    at = other.position if other is not None else last
    return Problem(
        kind=kind,
        group=group,
        sequence=track.sequence[one.position],
        culprits=(peer,) if kind == "peer" else tuple(sorted((one.rank, peer))),
        others=() if kind == "transfer" else (one.rank,),
        expected=At(rank=one.rank, position=one.position, is_peer=True),
        shown=None if at < 0 else At(rank=peer, position=at, is_peer=True),
        order=track.records[one.position],
        detail={"from": str(ends[0]), "to": str(ends[1])},
    )
