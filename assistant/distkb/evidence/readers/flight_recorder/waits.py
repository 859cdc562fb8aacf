"""Who waits for whom across groups: ranks that wait in two groups for each other never go on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TypeVar

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Point, Problem, Wait
from distkb.evidence.readers.flight_recorder.track import SCHEDULED

Node = TypeVar("Node", Point, int)


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
        circle = circle_from(start, edges)
        if circle is None or done & set(circle):
            continue
        done.update(circle)
        problems.append(_long(groups, waits, circle) if len(circle) > 2 else _problem(groups, waits, *circle))
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
    return rank in group.lost or group.enqueued.get(rank, -1) >= point.sequence


def circle_from(start: Node, edges: Mapping[Node, set[Node]]) -> list[Node] | None:
    """Return the shortest way back to where it starts, breadth first."""
    before: dict[Node, Node] = {}
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
    """Return the problem of two points; the side on which fewer ranks would have to be wrong comes first.

    Of as many on both sides, it is the one whose order fewer ranks keep in their own groups of these names.
    """
    wrong = {point: _absent(groups, waits, point) for point in (one, other)}
    stands = {point: sum(wait.point == point for wait in waits.values()) for point in (one, other)}
    votes = {one: _count_first(groups, one, other), other: _count_first(groups, other, one)}
    in_other = {rank for rank in groups[other.group].members if rank in waits and waits[rank].point == one}
    fewer = min(
        ((wrong[one], stands[other], one, other), (tuple(sorted(in_other)), stands[one], other, one)),
        key=lambda side: (len(side[0]), votes[side[3]], side[1]),
    )
    culprits, _, right, at = fewer
    # Who waits for another one of them in a group of their own is not the first.
    away = {point: set(_absent(groups, waits, point)) for point in {waits[rank].point for rank in culprits}}
    first = tuple(rank for rank in culprits if away[waits[rank].point].isdisjoint(culprits))
    culprits = first or culprits
    shown = next((rank for rank in culprits if waits[rank].point == at), culprits[0])
    return cross_problem(groups, waits, culprits, right, shown)


def cross_problem(
    groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], culprits: tuple[int, ...], missed: Point, shown: int
) -> Problem:
    """Return the problem of ranks that wait elsewhere while others wait for them at a point that they have missed."""
    here = tuple(sorted(rank for rank, wait in waits.items() if wait.point == missed))
    return Problem(
        kind="cross",
        group=groups[missed.group],
        sequence=missed.sequence,
        culprits=culprits,
        others=here,
        expected=At(rank=here[0], position=waits[here[0]].position),
        shown=At(rank=shown, position=waits[shown].position),
        other_group=groups[waits[shown].point.group],
        order=min(waits[here[0]].record, waits[shown].record),
    )


def _long(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], circle: Sequence[Point]) -> Problem:
    """Return the problem of three points or more: the ranks that link them in the order that fewer ranks have."""
    links = [
        (rank, waits[rank].point, point)
        for point, after in zip(circle, (*circle[1:], circle[0]), strict=True)
        for rank in _absent(groups, waits, point)
        if waits[rank].point == after
    ]
    followers = {(one, other): _count_first(groups, one, other) for _, one, other in links}
    fewest = min(followers.values())
    odd = sorted({link[0] for link in links if followers[link[1:]] == fewest})
    rank, _, missed = next(link for link in links if link[0] == odd[0])
    return cross_problem(groups, waits, tuple(odd), missed, rank)


def _count_first(groups: Sequence[ProcessGroup], one: Point, other: Point) -> int:
    """Return how many ranks made the call of one point before that of another, each in its own group of that name."""
    second = _records(groups, other)
    return sum(record < second.get(rank, 1 << 62) for rank, record in _records(groups, one).items())


def _records(groups: Sequence[ProcessGroup], point: Point) -> dict[int, int]:
    """Return the number that the call of a point has in each rank's own order."""
    found: dict[int, int] = {}
    for group in groups:
        for rank, track in group.tracks.items() if group.key.desc == groups[point.group].key.desc else ():
            at = bisect_left(track.sequence, point.sequence)
            if at < len(track) and track.sequence[at] == point.sequence:
                found.setdefault(rank, track.records[at])
    return found


def _absent(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], point: Point) -> tuple[int, ...]:
    """Return the members that have not come to a call and wait in another group."""
    group = groups[point.group]
    return tuple(
        rank
        for rank in group.members
        if rank in waits and waits[rank].point.group != point.group and not _came_first(group, rank, point, waits[rank])
    )


def waiting_in_peers(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait]) -> frozenset[int]:
    """Return the ranks whose oldest open call is a send or receive: they come to nothing else before it."""
    found = set()
    for group in groups:
        for rank, track in group.peers.items():
            at = first_open(track)
            if at is not None and (rank not in waits or track.records[at] < waits[rank].record):
                found.add(rank)
    return frozenset(found)


def is_held(groups: Sequence[ProcessGroup], point: Point) -> bool:
    """Whether some member has not come to a call, as far as its entries and its status tell."""
    group = groups[point.group]
    for rank in group.members:
        track = group.tracks.get(rank)
        last = track.sequence[-1] if track is not None and len(track) else -1
        if rank not in group.lost and max(last, group.enqueued.get(rank, -1)) < point.sequence:
            return True
    return False
