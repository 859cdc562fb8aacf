"""Names the rank that left its usual order where all others wait for each other because of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import msgspec

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.habit import Departure, came_so_elsewhere, departure
from distkb.evidence.readers.flight_recorder.peers import global_rank, is_sent
from distkb.evidence.readers.flight_recorder.problem import Point, Problem, Wait
from distkb.evidence.readers.flight_recorder.track import COMPLETED, SCHEDULED
from distkb.evidence.readers.flight_recorder.waits import cross_problem

_MOST = 64
"""Ranks that wait for each other of which the earlier calls are looked at."""
_LINKS = frozenset(("peer", "later", "stray", "transfer"))
"""Problems of one send or receive, with the rank at either end."""


class WaitGraph:
    """Which rank waits for which, by the oldest call of each that has not completed."""

    def __init__(self, groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], problems: Sequence[Problem]) -> None:
        self.groups = groups
        self.waits = waits
        self.heads: dict[int, int] = {rank: wait.record for rank, wait in waits.items()}
        self._absent: dict[Point, frozenset[int]] = {}
        self._partners: dict[int, set[int]] = {}
        for group in groups:
            for rank, track in group.peers.items():
                at = first_open(track)
                if at is not None and track.records[at] <= self.heads.get(rank, track.records[at]):
                    self.heads[rank] = track.records[at]
        self.unpaired = [problem for problem in problems if problem.kind == "peer"]
        for problem in problems:
            if problem.kind in _LINKS and problem.expected is not None:
                ends = {int(problem.detail["from"]), int(problem.detail["to"])}
                for rank in ends if problem.kind == "transfer" else (problem.expected.rank,):
                    self._partners.setdefault(rank, set()).update(ends - {rank})

    def in_collective(self, rank: int) -> bool:
        """Whether the oldest open call of a rank is a collective, rather than a send or receive."""
        return rank in self.waits and self.waits[rank].record == self.heads[rank]

    def waits_for(self, rank: int) -> frozenset[int]:
        """Return the ranks that have not come to where a rank waits."""
        if not self.in_collective(rank):
            return frozenset(self._partners.get(rank, ()))
        point = self.waits[rank].point
        if point not in self._absent:
            self._absent[point] = frozenset(r for r in self.groups[point.group].members if not self._has_come(r, point))
        return self._absent[point]

    def _has_come(self, rank: int, point: Point) -> bool:
        group = self.groups[point.group]
        track = group.tracks.get(rank)
        at = 0 if track is None else bisect_left(track.sequence, point.sequence)
        if track is None or at >= len(track):
            return rank in group.lost or group.enqueued.get(rank, -1) >= point.sequence
        if track.sequence[at] > point.sequence or track.states[at] != SCHEDULED:
            return True
        return track.records[at] <= self.heads.get(rank, track.records[at])

    def last_circle(self, start: int) -> frozenset[int]:
        """Return the ranks that wait for each other and for nobody else, at which all waiting that starts here ends."""
        while True:
            ahead = self._reached(start)
            further = (rank for rank in sorted(ahead)[: 4 * _MOST] if start not in self._reached(rank))
            after = next(further, None)
            if after is None:
                return ahead
            start = after

    def _reached(self, start: int) -> frozenset[int]:
        found: set[int] = set()
        seen: set[frozenset[int]] = set()
        queue = [start]
        for rank in queue:
            awaited = self.waits_for(rank)
            if awaited not in seen:
                seen.add(awaited)
                queue += awaited - found
                found |= awaited
        return frozenset(found)


def by_departure(problems: Sequence[Problem], graph: WaitGraph, tables: Tables) -> list[Problem]:
    """Return the problems of ranks that alone left their usual order among those at which all waiting ends.

    Where somebody waits for a call that the rank made whenever it had come there, or lacks, that one is the first.
    """
    found: list[Problem] = []
    seen: set[frozenset[int]] = set()
    for problem in problems:
        circle = graph.last_circle(problem.culprits[0])
        if not 1 < len(circle) <= _MOST or circle in seen:
            continue
        departures = (departure(rank, graph.groups, tables) for rank in sorted(circle))
        left = [one for one in departures if one is not None and not _is_common(one, circle, graph, tables)]
        if len(left) == 1 and problem.culprits != (left[0].at.rank,):
            seen.add(circle)
            lacking = (p for p in problems if p.kind == "peer" and p.culprits == (left[0].at.rank,))
            awaited = _awaited(left[0], graph, tables) or next((p for p in lacking if not p.is_consequence), None)
            if awaited is not None:
                found.append(awaited)
            if awaited is None or awaited.kind != "stray":
                found.append(_problem(left[0], circle, graph))
    return found


def _is_common(left: Departure, circle: frozenset[int], graph: WaitGraph, tables: Tables) -> bool:
    """Whether ranks that wait for nobody here made the same collective behind the same call too."""
    others = sorted({rank for group in graph.groups for rank in group.tracks} - circle)[:_MOST]
    return not left.at.is_peer and came_so_elsewhere(left, others, graph.groups, tables)


def _awaited(left: Departure, graph: WaitGraph, tables: Tables) -> Problem | None:
    """Return the send or receive that waits for what a rank left out, or made with another rank in its place."""
    usual = {(id(one.group), *_ends(one.group, call)) for one in left.usual if (call := _peer_call(one, tables))}
    waiting = (one for one in graph.unpaired if one.culprits == (left.at.rank,))
    problem = next((one for one in waiting if (id(one.group), *_route(one)) in usual), None)
    made = _peer_call(left, tables)
    if problem is None or made is None:
        return problem
    track, route = left.group.peers[left.at.rank], _ends(left.group, made)
    if (route[0] == left.at.rank) == is_sent(problem) or track.states[left.at.position] == COMPLETED:
        return problem
    return msgspec.structs.replace(
        problem,
        kind="stray",
        group=left.group,
        sequence=track.sequence[left.at.position],
        shown=None,
        expected=left.at,
        order=track.records[left.at.position],
        detail={"from": str(route[0]), "to": str(route[1])},
        is_consequence=False,
    )


def _peer_call(where: Departure, tables: Tables) -> Call | None:
    """Return a call if it is a send or receive of one partner."""
    if not where.at.is_peer:
        return None
    call = tables.calls[where.group.peers[where.at.rank].calls[where.at.position]]
    return call if call.source >= 0 else None


def _ends(group: ProcessGroup, call: Call) -> tuple[int, int]:
    return global_rank(group, call.source), global_rank(group, call.target)


def _route(problem: Problem) -> tuple[int, int]:
    return int(problem.detail["from"]), int(problem.detail["to"])


def _problem(left: Departure, circle: frozenset[int], graph: WaitGraph) -> Problem:
    """Return the problem of one rank: it waits in another group than those who wait for it, or made an unusual call."""
    odd, waits = left.at.rank, graph.waits
    held = tuple(sorted(rank for rank in circle - {odd} if odd in graph.waits_for(rank)))
    for rank in held if graph.in_collective(odd) else ():
        if graph.in_collective(rank) and waits[rank].point.group != waits[odd].point.group:
            return cross_problem(graph.groups, waits, (odd,), waits[rank].point, odd)
    track = (left.group.peers if left.at.is_peer else left.group.tracks)[odd]
    return Problem(
        kind="unusual",
        group=left.group,
        sequence=track.sequence[left.at.position],
        culprits=(odd,),
        others=held,
        expected=left.at,
        order=track.records[left.at.position],
    )
