"""Tells dumps of other moments: what stands open in the older one may long have ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem

STANDING = frozenset(
    ("behind", "never", "running", "cross", "circle", "peer", "stray", "transfer", "later", "count", "unusual")
)
"""Problems of ranks that wait, which hold of one moment only."""


class Operation(NamedTuple):
    """A send or receive of one rank."""

    rank: int
    position: int
    is_open: bool
    call: Call


Halves = Mapping[tuple[int, int], Sequence[Operation]]
"""Sends or receives by their ends."""


def older_ranks(
    sends: Halves, receives: Halves, heads: Mapping[int, range], whole: Collection[int]
) -> Iterator[tuple[int, Operation]]:
    """Yield the ranks that lack what another one has received, or wait in what has ended, with that one's call.

    A send may end before the other rank receives, but not a receive before it is sent; and a batch stays open for any
    of its calls.
    """
    older: dict[int, Operation] = {}
    ended: dict[int, dict[int, Operation]] = defaultdict(dict)
    for pair in sends.keys() & receives.keys():
        sent, received = sends[pair], receives[pair]
        if sent[0].rank not in whole or received[0].rank not in whole:
            continue
        for send, receive in zip(sent, received, strict=False):
            if not receive.is_open:
                ended[send.rank][send.position] = receive
            if not send.is_open:
                ended[receive.rank][receive.position] = send
        if any(not receive.is_open for receive in received[len(sent) :]):
            older[sent[0].rank] = received[len(sent)]
    for rank, halves in ended.items():
        head = heads[rank]
        if head and all(position in halves for position in head):
            older.setdefault(rank, halves[head[0]])
    yield from sorted(older.items())


def without_older(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems without those that an older dump may only seem to have.

    Calls that differ do so at any moment. Of one old dump only what touches its rank is in doubt, and the rest comes
    behind it; where several are old, the job went on while the dumps were taken.
    """
    older = {rank for problem in problems if problem.kind == "not-at-once" for rank in problem.culprits}
    if not older:
        return list(problems)

    def is_in_doubt(problem: Problem) -> bool:
        return len(older) > 1 or not older.isdisjoint((*problem.culprits, *problem.others))

    return [problem for problem in problems if problem.kind not in STANDING or not is_in_doubt(problem)]


def older_by_status(group: ProcessGroup, tables: Tables, last: Mapping[int, int]) -> Problem | None:
    """Return the ranks that have not called what others have completed by their status, which may be all they tell.

    What has completed is dropped from a dump of active calls, and so is not seen: all that are left need all ranks.
    """
    made = {number for track in group.tracks.values() for number in set(track.calls)}
    if not all(tables.calls[number].synchronizes for number in made) or not group.ended:
        return None
    newest = max(group.ended, key=lambda rank: (group.ended[rank], -rank))
    number = group.ended[newest]
    everybody = {rank: n for rank in group.ended if (n := group.enqueued[rank]) > 0} | dict(last)
    older = tuple(sorted(rank for rank, called in everybody.items() if called < number))
    if not older or newest in older:
        return None
    track = group.tracks.get(newest)
    return Problem(
        kind="not-at-once",
        group=group,
        sequence=number,
        culprits=older,
        others=tuple(sorted(everybody.keys() - older)),
        expected=At(rank=newest, position=0) if track is not None and len(track) else None,
        order=0,
        detail={"missing_calls": str(number - min(everybody[rank] for rank in older))},
    )
