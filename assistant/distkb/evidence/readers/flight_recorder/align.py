"""Compares the collectives of one group by their sequence numbers: who called something else, and who stayed behind.

Every rank keeps the same ring buffer but not the same window of it, so ranks are compared where their windows overlap.
Ranks with the very same history are one class and are compared once: thousands of ranks are a handful of classes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from distkb.evidence.readers.flight_recorder.calls import Difference, difference
from distkb.evidence.readers.flight_recorder.dump import RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.moments import older_by_status
from distkb.evidence.readers.flight_recorder.problem import At, Problem
from distkb.evidence.readers.flight_recorder.track import COMPLETED, SCHEDULED, STARTED, Track

_MAX_MISMATCHES = 8
"""Mismatches of one group that are told apart."""
_MAX_LATER = 10_000
_LOOKED_BACK = 16
"""Completed calls among which one that needs all ranks is looked for."""
_SHIFTS = (1, 2, 3, -1, -2, -3)


class Aligner:
    """The comparison of one group."""

    def __init__(self, group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> None:
        self.group = group
        self.dumps = dumps
        self.tables = tables
        self._differences: dict[tuple[int, int], Difference | None] = {}

    def problems(self) -> list[Problem]:
        """Return what is wrong in the group."""
        classes = self._classes()
        found, consistent = self._mismatches(classes)
        if consistent:
            found.extend(self._standing(consistent))
        return found

    def _classes(self) -> list[list[int]]:
        """Return ranks with the same calls at the same sequence numbers together, large classes first."""
        classes: dict[tuple[bytes, bytes], list[int]] = {}
        for rank, track in self.group.tracks.items():
            if len(track):
                classes.setdefault((track.sequence.tobytes(), track.calls.tobytes()), []).append(rank)
        return sorted(classes.values(), key=lambda ranks: (-len(ranks), ranks[0]))

    # Calls that differ.

    def _mismatches(self, classes: list[list[int]]) -> tuple[list[Problem], list[int]]:
        """Return the first mismatch of every class that has one, and the ranks that agree with each other."""
        found: list[Problem] = []
        while len(classes) > 1 and len(found) < _MAX_MISMATCHES:
            reference = self.group.tracks[classes[0][0]]
            first = [next(self._differing(reference, self.group.tracks[ranks[0]]), None) for ranks in classes[1:]]
            sequences = [sequence for sequence in first if sequence is not None]
            if not sequences:
                break
            problem = self._vote(min(sequences), classes)
            if problem is None:
                break
            found.append(problem)
            culprits = set(problem.culprits)
            classes = [ranks for ranks in classes if ranks[0] not in culprits]
        return found, sorted(rank for ranks in classes for rank in ranks)

    def _differing(self, one: Track, other: Track) -> Iterator[int]:
        """Yield the sequence numbers at which two ranks' calls cannot be one collective."""
        if not len(one) or not len(other):
            return
        low, high = max(one.sequence[0], other.sequence[0]), min(one.sequence[-1], other.sequence[-1])
        a, a_end = bisect_left(one.sequence, low), bisect_right(one.sequence, high)
        b, b_end = bisect_left(other.sequence, low), bisect_right(other.sequence, high)
        if (
            a_end - a == b_end - b
            and one.calls[a:a_end] == other.calls[b:b_end]
            and one.sequence[a:a_end] == other.sequence[b:b_end]
        ):
            return
        last = None
        while a < a_end and b < b_end:
            here, there = one.sequence[a], other.sequence[b]
            if here != there:
                # A number that one of them lacks within its window was filtered out of the dump.
                a, b = (a + 1, b) if here < there else (a, b + 1)
                continue
            if here != last and self.difference(one.calls[a], other.calls[b]) is not None:
                last = here
                yield here
            a, b = a + 1, b + 1

    def difference(self, one: int, other: int) -> Difference | None:
        """Return in what two calls differ."""
        if one == other:
            return None
        pair = (one, other)
        if pair not in self._differences:
            members = len(self.group.members) if self.group.members_known else 0
            self._differences[pair] = difference(self.tables.calls[one], self.tables.calls[other], members)
        return self._differences[pair]

    def _vote(self, sequence: int, classes: list[list[int]]) -> Problem | None:
        """Return the mismatch at a sequence number: those in the minority differ; of two halves, the later ranks."""
        parties: list[tuple[int, list[int]]] = []
        made = [(calls, ranks) for ranks in classes if (calls := self._calls_at(sequence, ranks[0]))]
        offset = self._first_differing([calls for calls, _ in made])
        for calls, ranks in made:
            call = calls[min(offset, len(calls) - 1)]
            for number, party in parties:
                if self.difference(number, call) is None:
                    party.extend(ranks)
                    break
            else:
                parties.append((call, list(ranks)))
        if len(parties) < 2:
            return None
        parties.sort(key=lambda party: (-len(party[1]), min(party[1])))
        expected, others = parties[0]
        call, culprits = parties[1]
        kind = self.difference(expected, call) or "op"
        for number, party in parties[2:]:
            if self.difference(expected, number) == kind:
                culprits = [*culprits, *party]
        return self._mismatch(kind, sequence, tuple(sorted(culprits)), tuple(sorted(others)))

    def _calls_at(self, sequence: int, rank: int) -> Sequence[int]:
        """Return the rank's calls with a sequence number: several where they are a coalesced group."""
        track = self.group.tracks[rank]
        return track.calls[bisect_left(track.sequence, sequence) : bisect_right(track.sequence, sequence)]

    def _first_differing(self, made: Sequence[Sequence[int]]) -> int:
        """Return the place within a coalesced group at which not all ranks agree."""
        for offset, calls in enumerate(zip(*made, strict=False)):
            if any(self.difference(calls[0], call) is not None for call in calls[1:]):
                return offset
        return min(map(len, made), default=0)

    def _mismatch(self, kind: Difference, sequence: int, culprits: tuple[int, ...], others: tuple[int, ...]) -> Problem:
        one, other = self.group.tracks[others[0]], self.group.tracks[culprits[0]]
        later = 0
        for number in self._differing(one, other):
            later += number > sequence
            if later >= _MAX_LATER:
                break
        at, shown = bisect_left(one.sequence, sequence), bisect_left(other.sequence, sequence)
        at, shown = self._inside(one, other, at, shown)
        return Problem(
            kind=kind,
            group=self.group,
            sequence=sequence,
            culprits=culprits,
            others=others,
            shown=At(rank=culprits[0], position=shown),
            expected=At(rank=others[0], position=at),
            later=later,
            left_out=self._shift(one, at, other, shown) if kind == "op" else 0,
            order=min(one.records[at], other.records[shown]),
        )

    def _inside(self, one: Track, other: Track, a: int, b: int) -> tuple[int, int]:
        """Move on to the calls that differ within a coalesced group."""
        sequence = one.sequence[a]
        while self.difference(one.calls[a], other.calls[b]) is None:
            if a + 1 >= len(one) or b + 1 >= len(other) or one.sequence[a + 1] != sequence:
                break
            if other.sequence[b + 1] != sequence:
                break
            a, b = a + 1, b + 1
        return a, b

    def _shift(self, one: Track, a: int, other: Track, b: int) -> int:
        """Return by how many calls the culprit is ahead of the others' order: it left out so many."""
        for shift in _SHIFTS:
            i, j = (a + shift, b) if shift > 0 else (a, b - shift)
            length = min(len(one) - i, len(other) - j, 64)
            if length >= 1 and all(
                self.difference(one.calls[i + k], other.calls[j + k]) is None for k in range(length)
            ):
                return shift
        return 0

    # Calls that were not made, or have not come back.

    def _standing(self, ranks: list[int]) -> list[Problem]:
        """Return who stayed behind among ranks that agree as far as they came, or what all of them are in."""
        tracks = self.group.tracks
        never = self._without_calls()
        last = {rank: self._last(rank) for rank in ranks}
        older = self._older(last | dict.fromkeys(never, 0)) or older_by_status(self.group, self.tables, last)
        if older is not None:
            return [older]
        gone = {rank: number for rank, number in self.group.enqueued.items() if rank not in tracks and number > 0}
        if never:
            return [self._never(never, ranks)]
        top = max(last.values())
        short = {rank: number for rank, number in gone.items() if number < top}
        if short:
            lowest = min(short.values())
            behind = tuple(sorted(rank for rank, number in short.items() if number == lowest))
            return self._behind(behind, tuple(rank for rank in ranks if last[rank] > lowest), lowest)
        lowest = min(last.values())
        if lowest == top or self._wait_in_one(ranks):
            return self._same(ranks)
        behind = tuple(rank for rank in ranks if last[rank] == lowest)
        waiting = tuple(rank for rank in ranks if last[rank] > lowest)
        return self._behind(behind, waiting, lowest)

    def _wait_in_one(self, ranks: list[int]) -> bool:
        """Whether all wait in one call: who has called more since then only waits the longer."""
        numbers = {None if (at := self._first_open(r)) is None else self.group.tracks[r].sequence[at] for r in ranks}
        return len(numbers) == 1 and None not in numbers

    def _older(self, last: Mapping[int, int]) -> Problem | None:
        """Return the ranks that seem not to have called what others have completed, for which all were needed."""
        tracks = self.group.tracks
        ended = {r: at for r in last if r in tracks and (at := self._last_together(tracks[r])) is not None}
        if not ended:
            return None
        newest = max(ended, key=lambda rank: (tracks[rank].sequence[ended[rank]], -rank))
        track = tracks[newest]
        number = track.sequence[ended[newest]]
        older = tuple(rank for rank in last if self._is_before(rank, last[rank], number, track.calls[ended[newest]]))
        if not older:
            return None
        return Problem(
            kind="not-at-once",
            group=self.group,
            sequence=number,
            culprits=older,
            others=tuple(rank for rank in last if rank not in older),
            shown=At(rank=older[0], position=len(tracks[older[0]]) - 1) if older[0] in tracks else None,
            expected=At(rank=newest, position=ended[newest]),
            order=track.records[ended[newest]],
            detail={"missing_calls": str(max(0, number - min(last.values())))},
        )

    def _is_before(self, rank: int, last: int, number: int, ended: int) -> bool:
        """Whether a dump shows a rank before it had part in a call that another rank has completed.

        On the GPU it comes to that one behind all that is open. Dumps that were asked for together are a call apart.
        """
        if self.tables.calls[ended].backend == "gloo":
            return last < number - 1  # one that comes back with an error looks like one that has completed
        at = self._first_open(rank) if rank in self.group.tracks else None
        return last < number or (at is not None and self.group.tracks[rank].sequence[at] < number - 1)

    def _last_together(self, track: Track) -> int | None:
        """Return the position of the last completed call that no rank completes before all have made it."""
        at = track.states.rfind(COMPLETED)
        for _ in range(_LOOKED_BACK):
            call = self.tables.calls[track.calls[at]]
            if at < 0 or call.synchronizes:
                break
            at = track.states.rfind(COMPLETED, 0, at)
        else:
            return None
        return at if at >= 0 else None

    def _last(self, rank: int) -> int:
        """Return the number of a rank's last call: of a dump of active calls its status knows later ones."""
        return max(self.group.tracks[rank].sequence[-1], self.group.enqueued.get(rank, -1))

    def _without_calls(self) -> tuple[int, ...]:
        """Return members that never made a call in this group: nothing of theirs was overwritten."""
        if not self.group.members_known and self.group.key.desc != "default_pg":
            return ()
        silent = [r for r in self.group.members if r in self.dumps and not len(self.group.tracks.get(r, ()))]
        silent = [rank for rank in silent if self.group.enqueued.get(rank, -1) <= 0]
        known = (self.dumps[rank].first_record == 0 or self.dumps[rank].knows_its_groups for rank in silent)
        return tuple(compress(silent, known))

    def _never(self, never: tuple[int, ...], ranks: list[int]) -> Problem:
        waiting = [rank for rank in ranks if self._first_open(rank) is not None] or ranks
        rank = waiting[0]
        position = self._first_open(rank)
        at = 0 if position is None else position
        track = self.group.tracks[rank]
        return Problem(
            kind="never",
            group=self.group,
            sequence=track.sequence[at],
            culprits=never,
            others=tuple(waiting),
            expected=At(rank=rank, position=at),
            order=track.records[at],
        )

    def _behind(self, behind: tuple[int, ...], waiting: tuple[int, ...], lowest: int) -> list[Problem]:
        tracks = self.group.tracks
        common = Problem(kind="behind", group=self.group, sequence=lowest + 1, culprits=behind, others=waiting)
        if behind[0] in tracks:
            common.shown = At(rank=behind[0], position=len(tracks[behind[0]]) - 1)
        holders = [rank for rank in waiting if _position(tracks[rank], lowest + 1) is not None]
        if not holders:
            # Windows that do not touch: what the waiting ranks called then is overwritten by now.
            common.kind = "too-short"
            common.order = min(tracks[rank].records[0] for rank in waiting)
            common.expected = At(rank=waiting[0], position=0)
            return [common]
        open_ranks = [rank for rank in holders if self._state(rank, lowest + 1) != COMPLETED]
        rank = (open_ranks or holders)[0]
        position = _position(tracks[rank], lowest + 1) or 0
        call = self.tables.calls[tracks[rank].calls[position]]
        common.expected = At(rank=rank, position=position)
        common.order = tracks[rank].records[position]
        if call.synchronizes and call.backend != "gloo" and len(open_ranks) < len(holders):
            # Somebody has completed what nobody completes before all have called it: this dump is older.
            common.kind = "not-at-once"
        top = max(map(self._last, waiting))
        common.detail["missing_calls"] = str(top - lowest)
        return [common]

    def _same(self, ranks: list[int]) -> list[Problem]:
        """All have come to the same number: whether a call has not come back, and on which ranks."""
        open_at = {rank: position for rank in ranks if (position := self._first_open(rank)) is not None}
        if not open_at:
            return []
        if self.group.lost:
            return [self._unknown(ranks, open_at)]
        tracks = self.group.tracks
        sequences = {rank: tracks[rank].sequence[position] for rank, position in open_at.items()}
        sequence = min(sequences.values())
        running = tuple(sorted(rank for rank, number in sequences.items() if number == sequence))
        states = {rank: tracks[rank].states[open_at[rank]] for rank in running}
        seen = running if STARTED in states.values() else self.group.starts
        quiet = tuple(rank for rank in running if states[rank] == SCHEDULED and rank in seen)
        first = running[0]
        problem = Problem(
            kind="running",
            group=self.group,
            sequence=sequence,
            culprits=running,
            others=tuple(rank for rank in ranks if rank not in set(running)),
            expected=At(rank=first, position=open_at[first]),
            order=tracks[first].records[open_at[first]],
        )
        problem.detail["not_started"] = ",".join(map(str, quiet))
        return [problem]

    def _unknown(self, ranks: list[int], open_at: Mapping[int, int]) -> Problem:
        """Of a call in which some wait while all that others called in this group is overwritten: who lacks it?"""
        rank = next(iter(open_at))
        track = self.group.tracks[rank]
        return Problem(
            kind="too-short",
            group=self.group,
            sequence=track.sequence[open_at[rank]],
            culprits=tuple(sorted(self.group.lost)),
            others=tuple(ranks),
            expected=At(rank=rank, position=open_at[rank]),
            order=track.records[open_at[rank]],
        )

    def _first_open(self, rank: int) -> int | None:
        return first_open(self.group.tracks[rank])

    def _state(self, rank: int, sequence: int) -> int:
        track = self.group.tracks[rank]
        position = _position(track, sequence)
        return COMPLETED if position is None else track.states[position]


def first_open(track: Track) -> int | None:
    """Return the position of the oldest call that has not completed."""
    oldest = min((at for at in (track.states.find(0), track.states.find(1)) if at >= 0), default=-1)
    return None if oldest < 0 else oldest


def _position(track: Track, sequence: int) -> int | None:
    at = bisect_left(track.sequence, sequence)
    return at if at < len(track) and track.sequence[at] == sequence else None


def most_common_place(group: ProcessGroup, ranks: tuple[int, ...], sequence: int) -> int:
    """Return the number of the place from which most of the ranks made a call; 0 where none is recorded."""
    places: Counter[int] = Counter()
    for rank in ranks:
        track = group.tracks.get(rank)
        position = None if track is None else _position(track, sequence)
        if track is not None and position is not None:
            places[track.places[position]] += 1
    return places.most_common(1)[0][0] if places else 0
