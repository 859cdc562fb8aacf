"""Who waits for whom across groups: ranks that wait in two groups for each other never go on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.dump import SCHEDULED
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem


class Point(NamedTuple):
    """A call that ranks wait in: the group's position in the list, and the sequence number."""

    group: int
    sequence: int


class Wait(NamedTuple):
    """Where one rank stands: its oldest call that has not completed."""

    point: Point
    position: int
    record: int


def standing(groups: Sequence[ProcessGroup]) -> dict[int, Wait]:
    """Return for every rank the oldest collective, in its own order, that has not completed."""
    found: dict[int, Wait] = {}
    for index, group in enumerate(groups):
        for rank, track in group.tracks.items():
            position = first_open(track)
            if position is None:
                continue
            wait = Wait(Point(index, track.sequence[position]), position, track.records[position])
            if rank not in found or wait.record < found[rank].record:
                found[rank] = wait
    return found


def crossing(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait]) -> list[Problem]:
    """Return the circles of waiting that lead through two groups or more."""
    edges = _edges(groups, waits)
    problems = []
    done: set[Point] = set()
    for start in sorted(edges):
        circle = _circle(start, edges)
        if circle is None or done & set(circle):
            continue
        done.update(circle)
        one, other = circle[0], circle[1]
        problems.append(_problem(groups, waits, one, other))
    return problems


def _edges(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait]) -> dict[Point, set[Point]]:
    """Return for each point the points in which those stand who have not come to it."""
    edges: dict[Point, set[Point]] = {wait.point: set() for wait in waits.values()}
    for point, targets in edges.items():
        group = groups[point.group]
        for rank in group.members:
            wait = waits.get(rank)
            if wait is not None and wait.point.group != point.group and not _came_first(group, rank, point, wait):
                targets.add(wait.point)
    return edges


def _came_first(group: ProcessGroup, rank: int, point: Point, wait: Wait) -> bool:
    """Whether a rank made the call of a point before the one that it waits in, or has begun it beside that one."""
    track = group.tracks.get(rank)
    at = 0 if track is None else bisect_left(track.sequence, point.sequence)
    if track is not None and at < len(track):
        # Where only later calls are left, it was completed: a dump may hold active calls only.
        if track.sequence[at] > point.sequence or track.records[at] < wait.record:
            return True
        return track.states[at] != SCHEDULED
    return group.enqueued.get(rank, -1) >= point.sequence


def _circle(start: Point, edges: Mapping[Point, set[Point]]) -> list[Point] | None:
    """Return the shortest way from a point back to itself, breadth first."""
    before: dict[Point, Point] = {}
    queue = [start]
    for point in queue:
        for target in sorted(edges.get(point, ())):
            if target == start:
                way = [point]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if target not in before:
                before[target] = point
                queue.append(target)
    return None


def _problem(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], one: Point, other: Point) -> Problem:
    here = tuple(sorted(rank for rank, wait in waits.items() if wait.point == one))
    there = tuple(sorted(rank for rank, wait in waits.items() if wait.point == other))
    return Problem(
        kind="cross",
        group=groups[one.group],
        sequence=one.sequence,
        culprits=here,
        others=there,
        expected=At(rank=here[0], position=waits[here[0]].position),
        shown=At(rank=there[0], position=waits[there[0]].position),
        other_group=groups[other.group],
        order=min(waits[here[0]].record, waits[there[0]].record),
    )


def mark_consequences(
    problems: Sequence[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup]
) -> list[Problem]:
    """Return the problems without those that a circle explains; those that follow from another group are marked."""
    circles = [problem for problem in problems if problem.kind == "cross"]
    in_peers: frozenset[int] = frozenset()
    if any(problem.kind == "peer" for problem in problems):
        in_peers = _waiting_in_peers(groups, waits)
    index = {id(group): number for number, group in enumerate(groups)}
    kept = []
    for problem in problems:
        if problem.kind in ("behind", "never", "running") and _in_circle(problem, circles):
            continue
        if problem.kind in ("behind", "never"):
            elsewhere = [waits.get(rank) for rank in problem.culprits]
            problem.is_consequence = in_peers.issuperset(problem.culprits) or all(
                wait is not None and wait.point.group != index[id(problem.group)] and _is_held(groups, wait.point)
                for wait in elsewhere
            )
        kept.append(problem)
    _mark_peers(kept, waits, index)
    return kept


def _mark_peers(problems: Sequence[Problem], waits: Mapping[int, Wait], index: Mapping[int, int]) -> None:
    """Mark sends and receives whose partner stands in a collective that some other rank never made."""
    causes = [p for p in problems if p.kind in ("behind", "never", "op") and not p.is_consequence]
    held = {index[id(problem.group)] for problem in causes}
    absent = {rank for problem in causes for rank in problem.culprits}
    for problem in problems:
        if problem.kind == "peer" and problem.shown is None:
            problem.is_consequence = all(
                rank in absent or ((wait := waits.get(rank)) is not None and wait.point.group in held)
                for rank in problem.culprits
            )


def _waiting_in_peers(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait]) -> frozenset[int]:
    """Return the ranks whose oldest open call is a send or receive: they come to nothing else before it."""
    found = set()
    for group in groups:
        for rank, track in group.peers.items():
            at = first_open(track)
            if at is not None and (rank not in waits or track.records[at] < waits[rank].record):
                found.add(rank)
    return frozenset(found)


def _is_held(groups: Sequence[ProcessGroup], point: Point) -> bool:
    """Whether some member has not come to a call, as far as its entries and its status tell."""
    group = groups[point.group]
    for rank in group.members:
        track = group.tracks.get(rank)
        last = track.sequence[-1] if track is not None and len(track) else -1
        if max(last, group.enqueued.get(rank, -1)) < point.sequence:
            return True
    return False


def _in_circle(problem: Problem, circles: Sequence[Problem]) -> bool:
    culprits = set(problem.culprits)
    return any(
        problem.group in (circle.group, circle.other_group) and culprits <= {*circle.culprits, *circle.others}
        for circle in circles
    )
