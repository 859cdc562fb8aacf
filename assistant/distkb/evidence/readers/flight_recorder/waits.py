"""Who waits for whom across groups: ranks that wait in two groups for each other never go on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.dump import SCHEDULED, Tables, Track
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.habit import is_unusual
from distkb.evidence.readers.flight_recorder.peers import SELDOM
from distkb.evidence.readers.flight_recorder.problem import At, Point, Problem, Wait

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
        circle = _circle(start, edges)
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
    return group.enqueued.get(rank, -1) >= point.sequence


def _circle(start: Node, edges: Mapping[Node, set[Node]]) -> list[Node] | None:
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
    """Return the problem of two points; the side on which fewer ranks would have to be wrong comes first."""
    wrong = {point: _absent(groups, waits, point) for point in (one, other)}
    stands = {point: sum(wait.point == point for wait in waits.values()) for point in (one, other)}
    in_other = {rank for rank in groups[other.group].members if rank in waits and waits[rank].point == one}
    fewer = min(
        ((wrong[one], stands[other], one, other), (tuple(sorted(in_other)), stands[one], other, one)),
        key=lambda side: (len(side[0]), side[1]),
    )
    culprits, _, right, at = fewer
    # Who waits for another one of them in a group of their own is not the first.
    first = tuple(rank for rank in culprits if not set(_absent(groups, waits, waits[rank].point)) & set(culprits))
    culprits = first or culprits
    here = tuple(sorted(rank for rank, wait in waits.items() if wait.point == right))
    shown = next((rank for rank in culprits if waits[rank].point == at), culprits[0])
    return Problem(
        kind="cross",
        group=groups[right.group],
        sequence=right.sequence,
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

    ranks = {rank for group in groups for rank in group.tracks}

    def followers(link: tuple[int, Point, Point]) -> int:
        return sum(_is_first(groups, rank, *link[1:]) for rank in ranks)

    fewest = min(map(followers, links))
    odd = sorted({link[0] for link in links if followers(link) == fewest})
    rank, _, missed = next(link for link in links if link[0] == odd[0])
    here = tuple(sorted(other for other, wait in waits.items() if wait.point == missed))
    return Problem(
        kind="cross",
        group=groups[missed.group],
        sequence=missed.sequence,
        culprits=tuple(odd),
        others=here,
        expected=At(rank=here[0], position=waits[here[0]].position),
        shown=At(rank=rank, position=waits[rank].position),
        other_group=groups[waits[rank].point.group],
        order=min(waits[here[0]].record, waits[rank].record),
    )


def _is_first(groups: Sequence[ProcessGroup], rank: int, one: Point, other: Point) -> bool:
    """Whether a rank made the call of one point before that of another, each in its own group of that name."""
    first, second = (_record(groups, rank, groups[point.group].key.desc, point.sequence) for point in (one, other))
    return first is not None and (second is None or first < second)


def _record(groups: Sequence[ProcessGroup], rank: int, desc: str, sequence: int) -> int | None:
    for group in groups:
        track = group.tracks.get(rank) if group.key.desc == desc else None
        at = -1 if track is None else bisect_left(track.sequence, sequence)
        if track is not None and at < len(track) and track.sequence[at] == sequence:
            return track.records[at]
    return None


def _absent(groups: Sequence[ProcessGroup], waits: Mapping[int, Wait], point: Point) -> tuple[int, ...]:
    """Return the members that have not come to a call and wait in another group."""
    group = groups[point.group]
    return tuple(
        rank
        for rank in group.members
        if rank in waits and waits[rank].point.group != point.group and not _came_first(group, rank, point, waits[rank])
    )


def mark_consequences(
    problems: Sequence[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], tables: Tables
) -> list[Problem]:
    """Return the problems without those that a circle explains; those that follow from another group are marked.

    Of ranks that stay away from a call, those that wait elsewhere for somebody are not the cause: they are left out
    where others of them wait for nobody.
    """
    circles = [problem for problem in problems if problem.kind == "cross"]
    in_peers: frozenset[int] = frozenset()
    if any(problem.kind in ("peer", "later") for problem in problems):
        in_peers = _waiting_in_peers(groups, waits)
    index = {id(group): number for number, group in enumerate(groups)}
    differing = {
        index[id(p.group)]: p.sequence for p in reversed(problems) if p.kind in _DIFFER and id(p.group) in index
    }
    kept = []
    for problem in problems:
        if problem.kind in ("behind", "never", "running") and _in_circle(problem, circles):
            continue
        if problem.kind in ("behind", "never"):
            own = index[id(problem.group)]
            free = tuple(
                rank
                for rank in problem.culprits
                if rank not in in_peers and not _is_explained(waits.get(rank), own, groups, differing)
            )
            problem.is_consequence = not free
            if free and len(free) < len(problem.culprits):
                problem.culprits = free
                if problem.shown is not None:
                    problem.shown = _last_of(problem.group, free[0])
        kept.append(problem)
    _mark_peers(kept, waits, groups, in_peers)
    for problem in kept:
        if problem.kind == "peer" and not problem.is_consequence:
            _by_habit(problem, waits, groups, tables)
    return kept


def _by_habit(problem: Problem, waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], tables: Tables) -> None:
    """Name the rank that waits, and not the one that lacks the call, where only the first leaves its usual order."""
    (waiting,), (lacking,) = problem.others, problem.culprits
    if problem.expected is None:
        return
    record = problem.group.peers[waiting].records[problem.expected.position]
    stands = waits.get(lacking)
    if stands is not None and is_unusual(lacking, stands.record, groups, tables):
        return
    if is_unusual(waiting, record, groups, tables):
        problem.kind, problem.culprits, problem.others, problem.shown = "stray", (waiting,), (), None


_DIFFER = frozenset(("op", "shape", "dtype", "exchange", "root", "no-root"))
"""Problems for which ranks wait in a call to which all have come."""


def _is_explained(wait: Wait | None, own: int, groups: Sequence[ProcessGroup], differing: Mapping[int, int]) -> bool:
    """Whether a rank stands in another group, in a call that cannot end."""
    if wait is None or wait.point.group == own:
        return False
    return _is_held(groups, wait.point) or differing.get(wait.point.group, 1 << 62) <= wait.point.sequence


def _last_of(group: ProcessGroup, rank: int) -> At | None:
    track = group.tracks.get(rank)
    return At(rank=rank, position=len(track) - 1) if track is not None and len(track) else None


def _mark_peers(
    problems: list[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], in_peers: frozenset[int]
) -> None:
    """Mark sends and receives whose partner stands in a collective that some other rank never made, or in another send.

    Where the partners go round in a circle, that is the problem, and the single waits follow from it; so they do from
    a rank that waits for one it never talks to while its usual partner waits for it.
    """
    causes = [p for p in problems if p.kind in ("behind", "never", "op", "missing") and not p.is_consequence]
    absent = {rank for problem in causes for rank in problem.culprits}
    single = [p for p in problems if p.kind == "peer"]
    for problem in single:
        (partner,) = problem.culprits
        wait = waits.get(partner)
        waits_elsewhere = bool(causes) and wait is not None and _is_held(groups, wait.point)
        problem.is_consequence = partner in absent or partner in in_peers or waits_elsewhere
    counted = {rank for p in problems if p.kind == "count" for rank in (*p.culprits, *p.others)}
    for problem in single:
        problem.is_consequence |= counted.issuperset((*problem.culprits, *problem.others))
    strays = [*_strays(single), *(p for p in problems if p.kind == "stray")]
    linked = [p for p in problems if p.kind in ("peer", "later")]
    edges: dict[int, set[int]] = {}
    for problem in linked:
        edges.setdefault(problem.others[0], set()).update(problem.culprits)
    for circle in _rounds(edges):
        inside = [p for p in linked if p.others[0] in circle and p.culprits[0] in circle]
        lacking = [p for p in inside if p.kind == "peer"]
        if any(stray.culprits[0] in circle for stray in strays) or counted & circle:
            continue
        if len(lacking) == 1 and len(inside) > 1:
            lacking[0].is_consequence = False
            continue
        problems.append(
            msgspec.structs.replace(
                inside[0], kind="circle", culprits=tuple(sorted(circle)), others=(), shown=None, is_consequence=False
            )
        )
    problems.extend(stray for stray in strays if stray not in problems)
    _mark_explained(single)
    problems[:] = [problem for problem in problems if problem.kind != "later"]


def _strays(single: Sequence[Problem]) -> list[Problem]:
    """Return the calls to a rank hardly ever talked to, by one for which a rank that it talks to makes the other half.

    Who waits for the same half as the odd one (a receive behind a receive) waits for what it would pass on.
    """
    found = []
    for problem in single:
        if not 0 <= problem.exchanged <= SELDOM:
            continue
        (odd,) = problem.others
        left = [
            other.others[0]
            for other in single
            if other.culprits == (odd,) and other.exchanged > 2 * problem.exchanged and _sends(other) != _sends(problem)
        ]
        if left:
            problem.is_consequence = True
            found.append(
                msgspec.structs.replace(
                    problem, kind="stray", culprits=(odd,), others=tuple(left), shown=None, is_consequence=False
                )
            )
    return found


def _sends(problem: Problem) -> bool:
    """Whether the call that waits is a send."""
    return problem.detail["from"] == str(problem.others[0])


def _mark_explained(single: Sequence[Problem]) -> None:
    """Mark the partners for which only ranks wait that wait for another one too.

    The calls of a batch end together, so one partner that is missing holds them all: the one for which most ranks wait,
    and of these the one with the fewest calls.
    """
    open_ones = [problem for problem in single if not problem.is_consequence]
    waiting: dict[tuple[int, int], set[int]] = {}
    for problem in open_ones:
        waiting.setdefault((id(problem.group), problem.culprits[0]), set()).add(problem.others[0])
    calls = {(id(p.group), p.culprits[0]): _last_number(p.group.peers.get(p.culprits[0])) for p in open_ones}

    def weight(key: tuple[int, int]) -> tuple[int, int]:
        return -len(waiting[key]), calls[key]

    kept: dict[int, list[tuple[int, int]]] = {}
    for key in sorted(waiting, key=weight):
        rivals = kept.setdefault(key[0], [])
        if not any(waiting[key] <= waiting[one] and weight(key) != weight(one) for one in rivals):
            rivals.append(key)
    for problem in open_ones:
        key = (id(problem.group), problem.culprits[0])
        problem.is_consequence = key not in kept[key[0]]


def _last_number(track: Track | None) -> int:
    return track.sequence[-1] if track is not None and len(track) else -1


def _rounds(edges: Mapping[int, set[int]]) -> list[set[int]]:
    """Return the ranks that wait for one another in a circle, each circle once."""
    found: list[set[int]] = []
    for start in sorted(edges):
        circle = None if any(start in one for one in found) else _circle(start, edges)
        found += [] if circle is None else [set(circle)]
    return found


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
