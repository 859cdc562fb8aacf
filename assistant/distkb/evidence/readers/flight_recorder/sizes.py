"""Says of two ranks that send and receive another size which of them it is that differs."""

from __future__ import annotations

from collections.abc import Sequence

from distkb.evidence.readers.flight_recorder.calls import Call, Shape
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem

_Size = tuple[Shape, tuple[str, ...]]


def name_odd_size(group: ProcessGroup, tables: Tables, problems: Sequence[Problem]) -> None:
    """Name the rank whose size was another before; or that all odd pairs share; or whose size nobody else has."""
    odd = [problem for problem in problems if problem.kind == "peer-size"]
    shared = set.intersection(*(set(problem.culprits) for problem in odd)) if len(odd) > 1 else set()
    for problem in odd:
        if problem.expected is None or problem.shown is None:
            continue
        ends = (problem.expected, problem.shown)
        if len(set(problem.culprits)) < 2:
            continue  # a rank that sends to itself
        left = _changed(group, tables, ends)
        if left is None and len(shared) == 1:
            (left,) = shared
        if left is None:
            left = _alone(group, tables, ends)
        if left is not None:
            problem.culprits, problem.others = (left,), tuple(at.rank for at in ends if at.rank != left)


def _changed(group: ProcessGroup, tables: Tables, ends: Sequence[At]) -> int | None:
    """Return the one of two ranks that had one size with the other in all its calls before, and has another now."""
    left = []
    for at in ends:
        track = group.peers[at.rank]
        call = tables.calls[track.calls[at.position]]
        route = (call.op, call.source, call.target)
        earlier = (tables.calls[number] for number in track.calls[: at.position])
        before = {_size(one) for one in earlier if (one.op, one.source, one.target) == route}
        if len(before) != 1:
            return None
        if before != {_size(call)}:
            left.append(at.rank)
    return left[0] if len(left) == 1 else None


def _alone(group: ProcessGroup, tables: Tables, ends: Sequence[At]) -> int | None:
    """Return the one of two ranks whose size none of the others has, where they have that of the other one."""
    known = {
        _size(tables.calls[number])
        for rank, track in group.peers.items()
        if rank not in (ends[0].rank, ends[1].rank)
        for number in set(track.calls)
    }
    left = [at.rank for at in ends if _size(tables.calls[group.peers[at.rank].calls[at.position]]) not in known]
    return left[0] if len(left) == 1 else None


def _size(call: Call) -> _Size:
    """Return what is sent or received."""
    return (call.inputs, call.input_dtypes) if call.op == "send" else (call.outputs, call.output_dtypes)
