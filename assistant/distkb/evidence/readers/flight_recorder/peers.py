"""Matches sends with receives: between two ranks they pair in the order in which they were called."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.dump import RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.moments import Halves, Operation, older_ranks
from distkb.evidence.readers.flight_recorder.problem import At, Kind, Problem, Wait
from distkb.evidence.readers.flight_recorder.sizes import name_odd_size
from distkb.evidence.readers.flight_recorder.track import COMPLETED, Track

_MAX_FOUND = 64
SELDOM, OFTEN = 1, 3
"""Transfers up to which two ranks hardly talk to each other, and from which they do."""


def unmatched(
    group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables, waits: Mapping[int, Wait]
) -> list[Problem]:
    """Return what is wrong between two ranks: a call that one lacks, other sizes, a transfer that does not end.

    A call whose other half stands behind what that rank waits in is `later`: it follows from that.
    """
    sends: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    receives: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    anybody: dict[int, int] = defaultdict(int)
    for rank, track in group.peers.items():
        for position, number in enumerate(track.calls):
            call = tables.calls[number]
            if call.source < 0:
                anybody[rank] += call.is_from_anybody
                continue
            operation = Operation(rank, position, track.states[position] != COMPLETED, call)
            (sends if call.op == "send" else receives)[call.source, call.target].append(operation)
    heads = {rank: _head(track, waits.get(rank)) for rank, track in group.peers.items()}
    transfers: Counter[frozenset[int]] = Counter()
    for pair in sends.keys() & receives.keys():
        transfers[frozenset(pair)] += min(len(sends[pair]), len(receives[pair]))
    talked: Counter[int] = Counter()
    for two, count in transfers.items():
        talked.update(dict.fromkeys(two, count))
    problems: list[Problem] = []
    for pair in sorted({*sends, *receives}):
        for problem in _pair(group, dumps, pair, sends.get(pair, []), receives.get(pair, []), heads):
            if problem.kind == "peer" and anybody[problem.culprits[0]] > 0:
                anybody[problem.culprits[0]] -= 1
                continue
            if problem.exchanged == 0:
                problem.exchanged = transfers[frozenset(pair)]
                problem.this_way = min(len(sends.get(pair, ())), len(receives.get(pair, ())))
            problems.append(problem)
    swapped = _swapped(group, tables, problems)
    awaited = awaited_halves(problems)
    for problem in problems:
        ends = {*problem.others, *problem.culprits}
        is_new = problem.kind == "peer" and problem.exchanged == 0 and not ends & swapped.keys()
        is_new = is_new and (problem.others[0], is_sent(problem)) in awaited
        if is_new and min(talked[_local(group, end)] for end in ends) >= OFTEN:
            problem.kind, problem.culprits, problem.others = "stray", problem.others, ()
        elif problem.kind == "peer" and problem.culprits[0] in swapped.get(problem.others[0], {}):
            (odd,) = problem.others
            problem.kind, problem.culprits, problem.others = "stray", (odd,), (swapped[odd][problem.culprits[0]],)
            problem.shown = None
    ahead = {rank for rank, track in group.peers.items() if heads[rank] and heads[rank].stop < len(track)}
    ahead |= waits.keys() & group.peers.keys()
    surplus = _surplus(group, dumps, sends, receives)
    whole = {rank for rank, dump in dumps.items() if dump.first_record == 0}
    problems.extend(_counts(surplus, problems, ahead & whole))
    _name_misdirected(surplus, problems, ahead, waits)
    name_odd_size(group, tables, problems)
    problems.extend(_of_older(group, sends, receives, heads, {r for r, dump in dumps.items() if dump.is_whole}))
    held = {rank for problem in problems if problem.kind in ("peer", "later") for rank in problem.others}
    problems = [p for p in problems if p.kind != "transfer" or not held & set(p.culprits)]
    problems.sort(key=lambda problem: problem.order)
    return problems[:_MAX_FOUND]


def _swapped(group: ProcessGroup, tables: Tables, problems: Sequence[Problem]) -> dict[int, dict[int, int]]:
    """Return the ranks that called one rank where another one waits for the other half, with both.

    With that one call turned round all calls find their halves: who was called waits for nobody, and all three
    made as many calls, so that none was left out; or it made with that rank alone what the other one makes.
    """
    waiting = [p for p in problems if p.kind == "peer"]
    held = {p.others[0] for p in waiting}
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for problem in waiting:
        (odd,), (called,) = problem.others, problem.culprits
        if called in held:
            continue
        made, own = _made(group, odd), _only_with(group, tables, called, odd)
        for other in waiting:
            if other.culprits != (odd,) or is_sent(other) == is_sent(problem):
                continue
            (left,) = other.others
            as_many = made == _made(group, called) == _made(group, left)
            if as_many or (own and own == _only_with(group, tables, left, odd)):
                found[odd][called] = left
    return found


def _only_with(group: ProcessGroup, tables: Tables, rank: int, partner: int) -> list[str]:
    """Return the operations of a rank that talks to one partner alone."""
    track = group.peers.get(rank)
    calls = [tables.calls[number] for number in track.calls] if track is not None else []
    ends = {_local(group, rank), _local(group, partner)}
    made = [call for call in calls if call.source >= 0]
    return [call.op for call in made] if all({call.source, call.target} == ends for call in made) else []


def _made(group: ProcessGroup, rank: int) -> int:
    """Return how many sends, receives and batches of these a rank has made in a group."""
    track = group.peers.get(rank)
    return track.sequence[-1] if track is not None and len(track) else 0


def awaited_halves(problems: Sequence[Problem]) -> frozenset[tuple[int, bool]]:
    """Return the ranks for which somebody waits, and whether it is for a send of theirs or for a receive."""
    return frozenset((p.culprits[0], not is_sent(p)) for p in problems if p.kind == "peer")


def is_sent(problem: Problem) -> bool:
    """Whether the call that waits is a send."""
    return problem.detail["from"] == str(problem.others[0])


def _surplus(
    group: ProcessGroup,
    dumps: Mapping[int, RankDump],
    sends: Mapping[tuple[int, int], list[Operation]],
    receives: Mapping[tuple[int, int], list[Operation]],
) -> dict[int, dict[int, int]]:
    """Return for each rank and each that it does not agree with by how many calls it made more.

    Where older calls were dropped, those that have not completed are counted: of a transfer, both halves complete.
    """
    surplus: dict[int, dict[int, int]] = defaultdict(dict)
    for pair in {*sends, *receives}:
        one, other = (global_rank(group, end) for end in pair)
        if any(end not in dumps for end in (one, other)):
            continue
        is_whole = all(dumps[end].first_record == 0 for end in (one, other))
        sent, received = (
            sum(is_whole or call.is_open for call in calls) for calls in (sends.get(pair, ()), receives.get(pair, ()))
        )
        more = sent - received
        if more:
            surplus[one][other] = surplus[one].get(other, 0) + more
            surplus[other][one] = surplus[other].get(one, 0) - more
    return surplus


def _counts(
    surplus: Mapping[int, Mapping[int, int]], problems: Sequence[Problem], ahead: set[int]
) -> Iterator[Problem]:
    """Find a rank that made more calls than each of several partners expects, where these agree with all others.

    Only of ranks that have called more than what they wait in are the numbers those of the program.
    """
    for rank, others in surplus.items():
        if len(others) < 2 or min(others.values()) < 0:
            continue
        if any(len(surplus[other]) > 1 for other in others) or not ahead.issuperset((rank, *others)):
            continue
        own = [p for p in problems if p.kind == "peer" and rank in (*p.others, *p.culprits)]
        if own:
            yield msgspec.structs.replace(
                own[0],
                kind="count",
                culprits=(rank,),
                others=tuple(sorted(others)),
                shown=None,
            )


def _name_misdirected(
    surplus: Mapping[int, Mapping[int, int]], problems: Sequence[Problem], ahead: set[int], waits: Mapping[int, Wait]
) -> None:
    """Name the rank that made calls with one partner that another one expects, where both agree with all others.

    The numbers are those of the program where all three have come to the same collective behind their calls.
    """
    for rank, others in surplus.items():
        if len(others) != 2 or sum(others.values()) != 0:
            continue
        lacking, called = sorted(others, key=others.__getitem__)
        if any(len(surplus[other]) > 1 for other in others):
            continue
        points = {waits[one].point if one in waits else None for one in (rank, *others)}
        is_counted = len(points) == 1 and None not in points
        for problem in problems:
            if problem.kind != "peer" or problem.others != (rank,) or problem.culprits != (called,):
                continue
            if is_counted or (problem.exchanged == 0 and ahead.issuperset((rank, lacking))):
                problem.kind, problem.culprits, problem.others, problem.shown = "stray", (rank,), (lacking,), None


def _head(track: Track, wait: Wait | None) -> range:
    """Return the positions of the oldest open call and of what was called with it; none behind an older collective."""
    first = first_open(track)
    if first is None or (wait is not None and wait.record < track.records[first]):
        return range(0)
    last = first
    while last + 1 < len(track) and track.sequence[last + 1] == track.sequence[first]:
        last += 1
    return range(first, last + 1)


def _of_older(
    group: ProcessGroup,
    sends: Halves,
    receives: Halves,
    heads: Mapping[int, range],
    whole: Collection[int],
) -> Iterator[Problem]:
    """Say of which ranks the dumps are older than those of the ranks that they exchange with."""
    for rank, call in older_ranks(sends, receives, heads, whole):
        ends = [global_rank(group, end) for end in (call.call.source, call.call.target)]
        problem = _problem(group, "not-at-once", call, None, ends)
        problem.culprits, problem.others = (rank,), (call.rank,)
        problem.shown = At(rank=rank, position=len(group.peers[rank]) - 1, is_peer=True)
        yield problem


def _pair(
    group: ProcessGroup,
    dumps: Mapping[int, RankDump],
    pair: tuple[int, int],
    sends: list[Operation],
    receives: list[Operation],
    heads: Mapping[int, range],
) -> Iterator[Problem]:
    ends = [global_rank(group, end) for end in pair]
    if any(end not in dumps for end in ends):
        return
    is_whole = all(dumps[end].first_record == 0 for end in ends)
    if not is_whole:
        # Where older calls were dropped, only what has not completed can be paired.
        sends, receives = [s for s in sends if s.is_open], [r for r in receives if r.is_open]
    for send, receive in zip(sends, receives, strict=False):
        if _disagree(send, receive):
            yield _problem(group, "peer-size", send, receive, ends)
            return
        if send.is_open and receive.is_open:
            yield from _both_open(group, send, receive, ends, heads)
            break
    longer, shorter = (sends, receives) if len(sends) > len(receives) else (receives, sends)
    left = next((operation for operation in longer[len(shorter) :] if operation.is_open), None)
    if left is not None and left.position in heads[left.rank]:
        problem = _problem(group, "peer", left, None, ends)
        problem.exchanged = 0 if is_whole else -1
        yield problem


def _both_open(
    group: ProcessGroup, send: Operation, receive: Operation, ends: list[int], heads: Mapping[int, range]
) -> Iterator[Problem]:
    """Say of two calls that are one transfer whether both ranks wait in it, or one of them in something older."""
    waiting = [one.position in heads[one.rank] for one in (send, receive)]
    if all(waiting):
        problem = _problem(group, "transfer", send, receive, ends)
        states = {one.rank: group.peers[one.rank].states[one.position] for one in (send, receive)}
        if len(set(states.values())) > 1:
            quiet = min(states, key=states.__getitem__)
            problem.detail["not_started"] = str(quiet)
        yield problem
    elif any(waiting):
        here, there = (send, receive) if waiting[0] else (receive, send)
        yield _problem(group, "later", here, there, ends)


def _disagree(send: Operation, receive: Operation) -> bool:
    """Whether two calls cannot be one transfer: by their sizes, or by their types where it has not come through."""
    one, other = send.call, receive.call
    if one.inputs != other.outputs and one.inputs and other.outputs:
        return True
    is_open = send.is_open or receive.is_open
    return is_open and one.input_dtypes != other.output_dtypes and bool(one.input_dtypes and other.output_dtypes)


def _local(group: ProcessGroup, rank: int) -> int:
    return group.members.index(rank) if group.members_known and rank in group.members else rank


def global_rank(group: ProcessGroup, end: int) -> int:
    """Return the rank of the job at one end of a send or receive."""
    return group.members[end] if group.members_known and 0 <= end < len(group.members) else end


def _problem(group: ProcessGroup, kind: Kind, one: Operation, other: Operation | None, ends: list[int]) -> Problem:
    """Return the problem of one pair; of a call without its other half, the rank that lacks it is the culprit."""
    track = group.peers[one.rank]
    peer = ends[1] if one.call.op == "send" else ends[0]
    last = len(group.peers.get(peer, ())) - 1
    at = other.position if other is not None else last
    return Problem(
        kind=kind,
        group=group,
        sequence=track.sequence[one.position],
        culprits=(peer,) if kind in ("peer", "later") else tuple(sorted((one.rank, peer))),
        others=() if kind == "transfer" else (one.rank,),
        expected=At(rank=one.rank, position=one.position, is_peer=True),
        shown=None if at < 0 else At(rank=peer, position=at, is_peer=True),
        order=track.records[one.position],
        detail={"from": str(ends[0]), "to": str(ends[1])},
    )
