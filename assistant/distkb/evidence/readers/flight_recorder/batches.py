"""Batches of sends and receives and coalesced groups: only the entry that ends one is tracked, and speaks for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, groupby

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.status import Status
from distkb.evidence.readers.flight_recorder.track import COMPLETED, SCHEDULED, GroupKey, Track


def without_batches(track: Track, peers: Track, calls: Sequence[Call]) -> Track:
    """Return the collectives without the entries that end a batch of sends and receives; these take their state."""
    ends = {number for number in set(track.calls) if calls[number].op == "coalesced"}
    if not ends:
        return track
    at_record = {record: at for at, record in enumerate(peers.records)}
    batches = [at for at, number in enumerate(track.calls) if number in ends and track.records[at] - 1 in at_record]
    if not batches:
        return track
    for batch in batches:
        last = at_record[track.records[batch] - 1]
        first = last
        while first > 0 and peers.records[first - 1] == peers.records[first] - 1:
            if peers.sequence[first - 1] != peers.sequence[last]:
                break
            first -= 1
        for at in range(first, last + 1):
            peers.states[at] = track.states[batch]
    left = Track()
    dropped = set(batches)
    kept = [at not in dropped for at in range(len(track))]
    left.sequence.extend(compress(track.sequence, kept))
    left.calls.extend(compress(track.calls, kept))
    left.places.extend(compress(track.places, kept))
    left.records.extend(compress(track.records, kept))
    left.states.extend(compress(track.states, kept))
    return left


def settle_coalesced(track: Track, calls: Sequence[Call]) -> None:
    """Give the calls inside a coalesced group the state of the entry that ends it: only that one is tracked."""
    sequence, states = track.sequence, track.states
    if not any(calls[number].is_end_of_group for number in set(track.calls)):
        return
    ended = state = -1
    for at in range(len(track) - 1, -1, -1):
        if sequence[at] == ended:
            states[at] = state
        elif calls[track.calls[at]].is_end_of_group:
            ended, state = sequence[at], states[at]


def settle_ended_batches(
    collectives: Mapping[GroupKey, Track],
    peers: Mapping[GroupKey, Track],
    status: Mapping[GroupKey, Status],
    calls: Sequence[Call],
) -> None:
    """Take batches of sends and receives as complete whose end is left out of a dump of what is still active.

    Only the end of a batch is tracked and left out once it is complete; what it holds stays in the dump as scheduled.
    """
    tracks = (*collectives.values(), *peers.values())
    is_active_only = not any(COMPLETED in track.states for track in tracks)
    records = {record for track in tracks for record in track.records} if peers or is_active_only else set()
    if not records:
        return
    newest = max(records)
    is_whole = len(records) > newest - min(records)
    if is_active_only:
        for group, track in collectives.items():
            _settle_coalesced_parts(track, records, newest, status.get(group), calls)
    for group, track in peers.items():
        last = status.get(group)
        if last is not None and is_active_only:
            made = {*track.calls, *collectives[group].calls} if group in collectives else set(track.calls)
            _settle_by_status(track, records, last, has_batches=any(calls[one].op == "coalesced" for one in made))
        if is_whole:
            continue
        for inside, end in _batches(track):
            if len(inside) > 1 and track.sequence[inside[0]] > 0 and end not in records and end < newest:
                for at in inside:
                    track.states[at] = COMPLETED


def _settle_coalesced_parts(
    track: Track, records: set[int], newest: int, status: Status | None, calls: Sequence[Call]
) -> None:
    """Take the parts of a coalesced collective as complete where its end is left out of a dump of what is active."""
    ended = -1 if status is None else status.completed
    for inside, end in _batches(track):
        is_part = len(inside) > 1 or calls[track.calls[inside[0]]].op in _PARTS
        if is_part and end not in records and (end < newest or track.sequence[inside[0]] <= ended):
            for at in inside:
                track.states[at] = COMPLETED


_PARTS = frozenset(("_broadcast_oop", "_reduce_oop"))
"""What ProcessGroupNCCL makes of collectives over tensors of different sizes, one for each rank."""


def _batches(track: Track) -> Iterator[tuple[list[int], int]]:
    """Yield the positions of calls with one number, and the number of the entry that would end them as a batch."""
    for _, batch in groupby(range(len(track)), key=track.sequence.__getitem__):
        inside = list(batch)
        yield inside, track.records[inside[-1]] + 1


def _settle_by_status(track: Track, records: set[int], status: Status, *, has_batches: bool) -> None:
    """Take as complete what the status says has ended, in a dump that holds what is still active only.

    A call that has ended and is in such a dump is part of a batch: these end in the order in which they were called.
    The numbers of the status may be those of a collective: a batch or two such calls must bear it out.
    """
    ended = -1
    if status.is_at_rest:
        ended = track.sequence[-1]
    elif status.enqueued == track.sequence[-1] and status.completed in track.sequence:
        ended = status.completed
    if (
        status.enqueued == track.sequence[-1]
        and not has_batches
        and sum(number <= ended for number in track.sequence) < 2
    ):
        return
    for inside, end in _batches(track):
        if track.sequence[inside[0]] <= ended and end not in records:
            for at in inside:
                track.states[at] = COMPLETED if track.states[at] == SCHEDULED else track.states[at]
