"""Says whether a rank made a call where it always made another one before: a training loop repeats itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At

_CONTEXTS = (3, 2, 1)
"""Calls before one that must be the same for it to be expected again: the longest that occurred decides."""
_MOST = 4000
"""Calls of a rank that are compared."""

_Call = tuple[str, str, int, int]
"""Name of the group, operation, and the ranks of a send or receive."""


class Departure(NamedTuple):
    """The first call with which a rank left its usual order."""

    group: ProcessGroup
    at: At
    place: int
    usual: tuple[Departure, ...] = ()
    """What it had called there, having come from the same calls."""


def is_unusual(rank: int, record: int, groups: Sequence[ProcessGroup], tables: Tables) -> bool:
    """Return whether the call with this number of the rank's own order never came behind what it came behind now."""
    calls = [call for number, call, _ in _history(rank, groups, tables) if number <= record][-_MOST:]
    for length in _CONTEXTS:
        before = calls[-1 - length : -1]
        seen = [
            calls[at]
            for at in range(length, len(calls) - 1)
            if calls[at - length : at] == before and len(before) == length
        ]
        if seen:
            return len(set(seen)) == 1 and seen[0] != calls[-1]
    return False


def departure(rank: int, groups: Sequence[ProcessGroup], tables: Tables) -> Departure | None:
    """Return the first call that never came behind what it came behind now, though the rank had been there before.

    What it came behind is as many calls, from the same places, as were the same once before. A rank has no habit before
    it has made every kind of call that it makes.
    """
    history = _history(rank, groups, tables)[-_MOST:]
    first: dict[_Call, int] = {}
    numbers: dict[tuple[_Call, int], str] = {}
    calls = ""
    for at, (_, call, where) in enumerate(history):
        first.setdefault(call, at)
        calls += numbers.setdefault((call, where.place), chr(len(numbers)))
    known = max(first.values(), default=0)
    is_whole = not history or history[0][0] == 0
    same = 0
    once: set[str] = set()
    often: set[str] = set()
    for at in range(len(calls)):
        was_there = same > 0
        while same >= 0 and calls.find(calls[at - same : at + 1], 0, at) < 0:
            if was_there and at > known and _is_habit(calls, at, same, set() if is_whole else often):
                usual = tuple(history[one][2] for one in _after(calls, at, same))
                return history[at][2]._replace(usual=usual)
            same -= 1
        same += 1
        (often if calls[at] in once else once).add(calls[at])
    return None


def came_so_elsewhere(left: Departure, ranks: Iterable[int], groups: Sequence[ProcessGroup], tables: Tables) -> bool:
    """Return whether one of these ranks made a call, too, behind what it came behind, both from the same places."""
    history = _history(left.at.rank, groups, tables)
    own = [(call, where.place) for _, call, where in history]
    at = next(at for at, one in enumerate(history) if one[2].at == left.at and one[2].group is left.group)
    step = own[max(0, at - 1) : at + 1]
    for rank in ranks:
        made = [(call, where.place) for _, call, where in _history(rank, groups, tables)][-_MOST:]
        if len(step) == 2 and any([one, other] == step for one, other in pairwise(made)):
            return True
    return False


def _is_habit(calls: str, at: int, length: int, often: Collection[str]) -> bool:
    """Whether what came before a call was a habit, rather than the first round of a loop of which this is the end.

    The end of a loop comes again. Where the beginning is overwritten, a whole round must have come twice, with all
    that was called `often`.
    """
    before = calls[at - length : at]
    return all(call in before for call in often) and calls.find(before + calls[at], at) < 0


def _after(calls: str, at: int, length: int) -> list[int]:
    """Return where the calls stand, each kind once, that came before behind so many calls as come before this one."""
    before = calls[at - length : at]
    found: dict[str, int] = {}
    start = calls.find(before)
    while 0 <= start < at - length:
        found.setdefault(calls[start + length], start + length)
        start = calls.find(before, start + 1)
    return list(found.values())


def _history(rank: int, groups: Sequence[ProcessGroup], tables: Tables) -> list[tuple[int, _Call, Departure]]:
    """Return what a rank called, in its own order, with the numbers of the entries; the end of a batch is no call."""
    found: list[tuple[int, _Call, Departure]] = []
    for group in groups:
        name = group.key.desc or group.key.name
        for is_peer, track in ((False, group.tracks.get(rank)), (True, group.peers.get(rank))):
            if track is not None:
                for at, number in enumerate(track.calls):
                    call = tables.calls[number]
                    if is_peer and call.source < 0 and call.is_end_of_group:
                        continue
                    where = Departure(group, At(rank=rank, position=at, is_peer=is_peer), track.places[at])
                    found.append((track.records[at], (name, call.op, call.source, call.target), where))
    return sorted(found, key=lambda one: one[0])
