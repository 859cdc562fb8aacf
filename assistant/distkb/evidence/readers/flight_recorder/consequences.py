"""Says which problems only follow from another one, and of two sides that wait for each other which was the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.habit import is_unusual
from distkb.evidence.readers.flight_recorder.peers import SELDOM, is_sent
from distkb.evidence.readers.flight_recorder.problem import At, Point, Problem, Wait
from distkb.evidence.readers.flight_recorder.track import Track
from distkb.evidence.readers.flight_recorder.waits import circle_from, cross_problem, is_held, waiting_in_peers


def mark_consequences(
    problems: Sequence[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup]
) -> list[Problem]:
    """Return the problems without those that a circle explains; those that follow from another group are marked.

    Of ranks that stay away from a call, those that wait elsewhere for somebody are not the cause: they are left out
    where others of them wait for nobody.
    """
    circles = [problem for problem in problems if problem.kind == "cross"]
    in_peers = waiting_in_peers(groups, waits)
    index = {id(group): number for number, group in enumerate(groups)}
    differing = {
        index[id(p.group)]: p.sequence for p in reversed(problems) if p.kind in _DIFFER and id(p.group) in index
    }
    endless = {
        Point(index[id(p.group)], p.sequence)
        for p in problems
        if p.kind == "running" and _is_root(p, index[id(p.group)], waits, in_peers)
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
                if rank not in in_peers
                and not _is_explained(waits.get(rank), own, groups, differing)
                and not _is_in_endless(rank, problem, waits, endless)
            )
            problem.is_consequence = not free
            if free and len(free) < len(problem.culprits):
                problem.culprits = free
                if problem.shown is not None:
                    problem.shown = _last_of(problem.group, free[0])
        elif problem.kind == "running" and endless:
            problem.is_consequence = Point(index[id(problem.group)], problem.sequence) not in endless
        kept.append(problem)
    stuck = frozenset(
        rank
        for rank, (point, *_) in waits.items()
        if point in endless or differing.get(point.group, 1 << 62) <= point.sequence
    )
    _mark_peers(kept, waits, groups, in_peers, stuck)
    return kept


_COMPARED = 64
"""Ranks of one problem whose earlier calls are looked at."""


def name_by_habit(
    problem: Problem,
    waits: Mapping[int, Wait],
    groups: Sequence[ProcessGroup],
    tables: Tables,
    awaited: frozenset[tuple[int, bool]],
) -> Problem:
    """Return a problem of two sides with the one as the culprit that alone left its usual order, if one did.

    `awaited` are the ranks for which somebody waits, and whether it is for a send.
    """
    if problem.is_consequence or len(problem.culprits) + len(problem.others) > _COMPARED:
        return problem
    if problem.kind == "peer":
        if (problem.others[0], is_sent(problem)) not in awaited and _is_at_rest(
            problem.culprits[0], problem.group, waits
        ):
            return problem  # it has stopped, and what the other would do instead, nobody lacks
        _by_habit(problem, waits, groups, tables)
    elif problem.kind == "cross" and problem.expected is not None and not problem.expected.is_peer:
        return _turned(problem, waits, groups, tables)
    elif problem.kind == "op" and len(problem.culprits) == len(problem.others):
        _halves_by_habit(problem, groups, tables)
    return problem


def _is_at_rest(rank: int, group: ProcessGroup, waits: Mapping[int, Wait]) -> bool:
    """Whether a rank waits in nothing."""
    track = group.peers.get(rank)
    return rank not in waits and (track is None or first_open(track) is None)


def _turned(problem: Problem, waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], tables: Tables) -> Problem:
    """Return two sides that wait for each other with the one as the culprit that alone left its usual order."""
    left = tuple(rank for rank in problem.others if _strayed(rank, waits, groups, tables))
    odd = left and any(_strayed(rank, waits, groups, tables) for rank in problem.culprits)
    if odd or not left or len(left) > len(problem.culprits):
        return problem
    missed = waits[problem.culprits[0]].point
    return cross_problem(groups, waits, left, missed, left[0])


def _halves_by_habit(problem: Problem, groups: Sequence[ProcessGroup], tables: Tables) -> None:
    """Of two halves that called different operations, name the one that alone never called its own there before."""
    if problem.shown is None or problem.expected is None:
        return
    tracks = problem.group.tracks
    is_odd = [
        is_unusual(at.rank, tracks[at.rank].records[at.position], groups, tables)
        for at in (problem.shown, problem.expected)
    ]
    if is_odd == [False, True]:
        problem.culprits, problem.others = problem.others, problem.culprits
        problem.shown, problem.expected = problem.expected, problem.shown
        problem.left_out = -problem.left_out


def _strayed(rank: int, waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], tables: Tables) -> bool:
    """Whether a rank waits in a collective that it never called at this point before."""
    return rank in waits and is_unusual(rank, waits[rank].record, groups, tables)


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
    return is_held(groups, wait.point) or differing.get(wait.point.group, 1 << 62) <= wait.point.sequence


def _is_root(problem: Problem, own: int, waits: Mapping[int, Wait], in_peers: frozenset[int]) -> bool:
    """Whether all members stand in a call that does not end, and none of them in anything before it."""
    point = Point(own, problem.sequence)
    return all(r in waits and waits[r].point == point and r not in in_peers for r in problem.group.members)


def _is_in_endless(rank: int, problem: Problem, waits: Mapping[int, Wait], endless: Collection[Point]) -> bool:
    """Whether a rank stays away for a call that does not end on any rank, as all do that stand in it."""
    point = waits[rank].point if rank in waits else None
    return point in endless and not any(other in waits and waits[other].point == point for other in problem.others)


def _last_of(group: ProcessGroup, rank: int) -> At | None:
    track = group.tracks.get(rank)
    return At(rank=rank, position=len(track) - 1) if track is not None and len(track) else None


def _mark_peers(
    problems: list[Problem],
    waits: Mapping[int, Wait],
    groups: Sequence[ProcessGroup],
    in_peers: frozenset[int],
    stuck: frozenset[int],
) -> None:
    """Mark sends and receives whose partner stands in a collective that some other rank never made, or in another send.

    `stuck` are the ranks in a collective that all have called and that does not end.

    Where the partners go round in a circle, that is the problem, and the single waits follow from it; so they do from
    a rank that waits for one it never talks to while its usual partner waits for it.
    """
    _mark_later_absence(problems, waits, groups)
    causes = [p for p in problems if p.kind in ("behind", "never", "op", "missing") and not p.is_consequence]
    absent = {rank for problem in causes for rank in problem.culprits}
    single = [p for p in problems if p.kind == "peer"]
    for problem in single:
        (partner,) = problem.culprits
        wait = waits.get(partner)
        waits_elsewhere = bool(causes) and wait is not None and is_held(groups, wait.point)
        problem.is_consequence = partner in absent or partner in in_peers or partner in stuck or waits_elsewhere
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
    problems.extend(_ahead_of_peers(problems, waits, groups, in_peers))
    _mark_explained(single)
    problems[:] = [problem for problem in problems if problem.kind != "later"]


def _mark_later_absence(problems: Sequence[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup]) -> None:
    """Mark the absence of ranks that owe a send or receive which those who wait for them made before."""
    owing = [p for p in problems if p.kind == "peer" and _is_at_rest(p.culprits[0], p.group, waits)]
    for problem in problems:
        if problem.kind not in ("behind", "never") or problem.expected is None:
            continue
        at = problem.expected
        before = problem.group.tracks[at.rank].records[at.position]
        owed = {
            p.culprits[0]
            for p in owing
            if _made(p.group, at.rank, groups, before) > _made(p.group, p.culprits[0], groups)
        }
        problem.is_consequence |= owed.issuperset(problem.culprits)


def _made(like: ProcessGroup, rank: int, groups: Sequence[ProcessGroup], before: int = 1 << 62) -> int:
    """Return the number of a rank's last send or receive, in its own group of this description, before another call."""
    tracks = [g.peers[rank] for g in groups if rank in g.peers and g.key.desc == like.key.desc]
    made = (zip(track.records, track.sequence, strict=True) for track in tracks)
    return max((number for one in made for record, number in one if record < before), default=0)


def _ahead_of_peers(
    problems: Sequence[Problem], waits: Mapping[int, Wait], groups: Sequence[ProcessGroup], in_peers: frozenset[int]
) -> list[Problem]:
    """Return the ranks that wait in a collective with one that waits in a send or receive of theirs before it."""
    found = []
    for problem in problems:
        (waiting, partner) = (*problem.others, *problem.culprits) if problem.kind == "later" else (-1, -1)
        wait = waits.get(partner)
        if wait is None or partner in in_peers or waiting not in groups[wait.point.group].members:
            continue
        own = waits.get(waiting)
        if waiting in in_peers and (own is None or own.point == wait.point):
            found.append(
                msgspec.structs.replace(
                    problem,
                    kind="cross",
                    shown=At(rank=partner, position=wait.position),
                    other_group=groups[wait.point.group],
                )
            )
    return found


def _strays(single: Sequence[Problem]) -> list[Problem]:
    """Return the calls to a rank hardly ever talked to, by one for which a rank that it talks to makes the other half.

    Who waits for the same half as the odd one (a receive behind a receive) waits for what it would pass on.
    """
    found = []
    for problem in single:
        if not 0 <= problem.exchanged <= SELDOM and not _is_new_way(problem, single):
            continue
        (odd,) = problem.others
        left = [
            other.others[0]
            for other in single
            if other.culprits == (odd,)
            and (other.exchanged > 2 * problem.exchanged or other.this_way > SELDOM > problem.this_way)
            and is_sent(other) != is_sent(problem)
        ]
        if left:
            problem.is_consequence = True
            found.append(
                msgspec.structs.replace(
                    problem, kind="stray", culprits=(odd,), others=tuple(left), shown=None, is_consequence=False
                )
            )
    return found


def _is_new_way(problem: Problem, single: Sequence[Problem]) -> bool:
    """Whether a rank calls for the first time in this direction one that waits for it in the other, as ever."""
    back = (p for p in single if p.others == problem.culprits and p.culprits == problem.others)
    return problem.this_way == 0 and any(p.this_way > SELDOM and is_sent(p) == is_sent(problem) for p in back)


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
        circle = None if any(start in one for one in found) else circle_from(start, edges)
        found += [] if circle is None else [set(circle)]
    return found


def _in_circle(problem: Problem, circles: Sequence[Problem]) -> bool:
    culprits = set(problem.culprits)
    return any(
        problem.group in (circle.group, circle.other_group) and culprits <= {*circle.culprits, *circle.others}
        for circle in circles
    )
