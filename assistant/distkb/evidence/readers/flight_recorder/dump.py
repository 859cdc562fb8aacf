"""One rank's dump as columns of numbers: what matching needs, and no more, for thousands of ranks."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, groupby
from typing import Any, NamedTuple

from distkb.evidence.readers.flight_recorder.calls import CALL_FIELDS, Call, Lists, once, parse_call
from distkb.evidence.readers.flight_recorder.pickle_stream import Stream
from distkb.evidence.readers.flight_recorder.place import CallSite, number_of, text_of, user_place
from distkb.evidence.readers.flight_recorder.runs import EntryBlock, integer

SCHEDULED, STARTED, COMPLETED = 0, 1, 2
_STATES = {"scheduled": SCHEDULED, "started": STARTED, "completed": COMPLETED}
STATE_NAMES = ("scheduled", "started", "completed")
MAX_ENTRIES = 400_000
_ALONE = 4
"""Entries of a run that take as long as one that stands alone."""
_MAX_GROUPS = 20_000
_MAX_RANK = 1 << 24
_LONG = 500
"""Items of the lists of a call that are not compared one by one for every entry."""
_LIMIT = 1 << 62


class NotADumpError(Exception):
    """The document is no dump of a flight recorder."""


class GroupKey(NamedTuple):
    """A process group as one rank names it."""

    name: str
    desc: str


class Tables:
    """Calls and places of all ranks, each stored once and named by a number."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.places: list[CallSite | None] = [None]
        self._calls: dict[Call, int] = {}
        self._places: dict[CallSite, int] = {}
        self._members: dict[str, tuple[int, ...]] = {}
        self._columns: dict[bytes, Any] = {}
        self.lists: Lists = {}
        """Of the lists of the document that is being read."""

    def share(self, track: Track) -> None:
        """Let a finished track have the columns of a rank before it where they are the same: most of the memory."""
        for name in Track.__slots__:
            column = getattr(track, name)
            key = name.encode() + bytes(column)
            setattr(track, name, self._columns.setdefault(key, column))

    def call(self, call: Call) -> int:
        """Return the number of a call."""
        number = self._calls.setdefault(call, len(self.calls))
        if number == len(self.calls):
            self.calls.append(call)
        return number

    def place(self, place: CallSite | None) -> int:
        """Return the number of a place; 0 for none."""
        if place is None:
            return 0
        number = self._places.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def members(self, text: str) -> tuple[int, ...]:
        """Return the ranks of `[0, 1, 2]`, sorted."""
        known = self._members.get(text)
        if known is None:
            ranks = {int(digits) for digits in re.findall(r"\d+", text[: 1 << 20]) if len(digits) < 9}
            known = tuple(sorted(rank for rank in ranks if rank < _MAX_RANK))
            if len(self._members) < _MAX_GROUPS:
                self._members[text] = known
        return known


class Track:
    """The calls of one rank in one group, oldest first: collectives, or point-to-point operations."""

    __slots__ = ("calls", "places", "records", "sequence", "states")

    def __init__(self) -> None:
        self.sequence = array("q")
        self.calls = array("I")
        self.places = array("I")
        self.records = array("q")
        self.states = bytearray()

    def __len__(self) -> int:
        return len(self.sequence)

    def extend(self, sequence: Iterable[int], kinds: Sequence[_Kind], records: Iterable[int]) -> None:
        """Add calls."""
        self.sequence.extend(sequence)
        self.calls.extend([kind.call for kind in kinds])
        self.places.extend([kind.place for kind in kinds])
        self.records.extend(records)
        self.states.extend([kind.state for kind in kinds])

    def join(self, other: Track) -> None:
        """Add all calls of another track."""
        self.sequence.extend(other.sequence)
        self.calls.extend(other.calls)
        self.places.extend(other.places)
        self.records.extend(other.records)
        self.states.extend(other.states)


class RankDump:
    """What one rank recorded."""

    __slots__ = (
        "collectives", "enqueued", "first_record", "members", "numbers", "path", "peers", "rank", "starts", "version"
    )  # fmt: skip

    def __init__(self, rank: int, path: str, version: str) -> None:
        self.rank = rank
        self.path = path
        self.version = version
        self.members: dict[GroupKey, tuple[int, ...]] = {}
        """Ranks of every group that this rank belongs to; empty where the backend does not record them."""
        self.starts: set[GroupKey] = set()
        """Groups whose calls are seen to begin on the GPU, so that one which is only scheduled has not begun."""
        self.enqueued: dict[str, int] = {}
        """The last collective that was called, by the rank's own number of the group, as `pg_status` has it."""
        self.numbers: dict[GroupKey, str] = {}
        """The rank's own numbers of its groups, as far as entries name them."""
        self.collectives: dict[GroupKey, Track] = {}
        self.peers: dict[GroupKey, Track] = {}
        self.first_record: int = 0
        """Number of the oldest entry that is left: above 0 the ring buffer has dropped what came before."""

    @property
    def entries(self) -> int:
        """How many calls the dump holds."""
        return sum(map(len, (*self.collectives.values(), *self.peers.values())))


class _Kind:
    """Everything about an entry but its numbers; compared by identity."""

    __slots__ = ("call", "number", "place", "state", "target")

    def __init__(self, target: tuple[GroupKey, bool], call: int, place: int, state: int, number: str) -> None:
        self.target = target
        """Group, and whether it is a point-to-point operation: which track it belongs to."""
        self.call = call
        self.place = place
        self.state = state
        self.number = number
        """The rank's own number of the group; empty where it is not recorded."""


class _Kinds(dict[tuple[bytes, ...], _Kind]):
    """Kinds of entries of one file, by the bytes that they are written with."""

    def __init__(self, stream: Stream, tables: Tables) -> None:
        self._stream = stream
        self._tables = tables

    def __missing__(self, pieces: tuple[bytes, ...]) -> _Kind:
        entry: dict[str, Any] = {}
        for piece in pieces:
            entry.update(self._stream.fields(piece))
        self._tables.lists.clear()  # these lists end here, and others may come to stand in their places
        kind = _kind(entry, self._tables)
        self._tables.lists.clear()
        self[pieces] = kind
        return kind


def build(document: Any, stream: Stream | None, tables: Tables, rank: int, path: str) -> RankDump:
    """Return the columns of one dump. Raises NotADumpError, and BadPickleError for damaged pieces."""
    if not isinstance(document, dict) or not isinstance(document.get("entries", ()), (list, tuple)):
        raise NotADumpError
    if not {"entries", "pg_config", "pg_status"} & document.keys():
        raise NotADumpError
    dump = RankDump(rank, path, _version(document.get("version")))
    _read_groups(dump, document.get("pg_config"), document.get("pg_status"), tables)
    first: list[int] = []
    left = MAX_ENTRIES
    kinds = None if stream is None else _Kinds(stream, tables)
    tables.lists.clear()
    for item in document.get("entries") or ():
        if left <= 0:
            raise NotADumpError("too-many-entries")
        if type(item) is EntryBlock and kinds is not None:
            left -= len(item)
            first.append(_add_run(dump, item, kinds))
        elif isinstance(item, dict):
            left -= _ALONE
            first.append(_add_entry(dump, item, tables))
    tables.lists.clear()
    dump.first_record = min(first, default=0)
    _settle_ended_batches(dump)
    for key, track in dump.collectives.items():
        if key in dump.peers:
            dump.collectives[key] = _without_batches(track, dump.peers[key], tables)
    for track in (*dump.collectives.values(), *dump.peers.values()):
        _settle_coalesced(track, tables)
        tables.share(track)
    return dump


def _read_groups(dump: RankDump, groups: Any, status: Any, tables: Tables) -> None:
    """Read the groups' ranks, and whether any call was seen to begin on the GPU.

    ProcessGroupNCCL sees that only with TORCH_NCCL_ENABLE_TIMING=1; without it the last one that began stays -1.
    """
    for name, group in list(groups.items())[:_MAX_GROUPS] if isinstance(groups, dict) else ():
        if not isinstance(group, dict):
            continue
        ranks = group.get("ranks")
        if isinstance(ranks, (list, tuple)):
            ranks = str([rank for rank in ranks if type(rank) is int])
        key = GroupKey(text_of(group.get("name", name)), text_of(group.get("desc")))
        dump.members[key] = tables.members(ranks) if isinstance(ranks, str) else ()
        last = status.get(name) if isinstance(status, dict) else None
        began = last.get("last_started_collective") if isinstance(last, dict) else None
        if type(began) is int and began > 0:
            dump.starts.add(key)

    for name, last in list(status.items())[:_MAX_GROUPS] if isinstance(status, dict) else ():
        called = last.get("last_enqueued_collective") if isinstance(last, dict) else None
        if type(called) is int and 0 <= called < _LIMIT:
            dump.enqueued[str(name)[:40]] = called


def _add_run(dump: RankDump, run: EntryBlock, kinds: _Kinds) -> int:
    """Add the entries of a run; returns the number of the oldest."""
    if run.columns is None:
        run.columns = _columns(run, kinds)
    oldest, tracks, numbers = run.columns
    dump.numbers.update(numbers)
    for (group, is_p2p), columns in tracks:
        _track(dump, group, is_p2p).join(columns)
    return int(oldest)


def _columns(
    run: EntryBlock, kinds: _Kinds
) -> tuple[int, list[tuple[tuple[GroupKey, bool], Track]], dict[GroupKey, str]]:
    """Return the number of the oldest entry, the entries track by track, and the rank's numbers of the groups."""
    records = [integer[piece] for piece in run.numbers[0]]
    found = list(map(kinds.__getitem__, zip(*run.rest, strict=True)))
    targets = {kind.target for kind in set(found)}
    tracks = []
    for target in targets:
        track = Track()
        sequence = map(integer.__getitem__, run.numbers[2 if target[1] else 1])
        if len(targets) == 1:
            track.extend(sequence, found, records)
        else:
            mine = [kind.target is target or kind.target == target for kind in found]
            track.extend(compress(sequence, mine), list(compress(found, mine)), compress(records, mine))
        tracks.append((target, track))
    return min(records), tracks, {kind.target[0]: kind.number for kind in set(found) if kind.number}


def _add_entry(dump: RankDump, entry: dict[str, Any], tables: Tables) -> int:
    kind = _kind(entry, tables)
    record = number_of(entry.get("record_id"))
    group, is_p2p = kind.target
    if kind.number:
        dump.numbers[group] = kind.number
    sequence = number_of(entry.get("p2p_seq_id" if is_p2p else "collective_seq_id", entry.get("seq_id")))
    _track(dump, group, is_p2p).extend((sequence,), (kind,), (record,))
    return record


def _track(dump: RankDump, group: GroupKey, is_p2p: bool) -> Track:
    tracks = dump.peers if is_p2p else dump.collectives
    track = tracks.get(group)
    if track is None:
        track = tracks[group] = Track()
    return track


def _kind(entry: Mapping[str, Any], tables: Tables) -> _Kind:
    group = entry.get("process_group")
    key = GroupKey("?", "")
    if isinstance(group, (list, tuple)) and len(group) == 2:
        key = GroupKey(text_of(group[0]), text_of(group[1]))
    number = _call_number(entry, tables)
    call = tables.calls[number]
    name = entry.get("state")
    state = _STATES.get(name, SCHEDULED) if isinstance(name, str) else SCHEDULED
    if call.backend == "gloo" and entry.get("retired") is True:
        # Gloo records no states: all stay scheduled, and retired says that the call has come back.
        state = COMPLETED
    is_p2p = entry.get("is_p2p") is True or call.source >= 0
    own = entry.get("pg_id")
    own = str(own) if type(own) is int and 0 <= own < _LIMIT else ""
    place = tables.place(once(user_place, entry.get("frames"), tables.lists))
    return _Kind((key, is_p2p), number, place, state, own)


def _call_number(entry: Mapping[str, Any], tables: Tables) -> int:
    """Return the number of an entry's call; with the same long lists as another's it is looked up by these."""
    parts = [entry.get(name) for name in CALL_FIELDS]
    if sum(len(part) for part in parts if isinstance(part, (str, list, tuple))) < _LONG:
        return tables.call(parse_call(dict(entry), tables.lists))
    key = ("call", *map(id, parts))
    if key not in tables.lists:
        tables.lists[key] = tables.call(parse_call(dict(entry), tables.lists))
    number: int = tables.lists[key]
    return number


def _without_batches(track: Track, peers: Track, tables: Tables) -> Track:
    """Return the collectives without the entries that end a batch of sends and receives; these take their state."""
    ends = {number for number in set(track.calls) if tables.calls[number].op == "coalesced"}
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


def _settle_coalesced(track: Track, tables: Tables) -> None:
    """Give the calls inside a coalesced group the state of the entry that ends it: only that one is tracked."""
    sequence, states, calls = track.sequence, track.states, track.calls
    if not any(tables.calls[number].is_end_of_group for number in set(calls)):
        return
    ended = state = -1
    for at in range(len(track) - 1, -1, -1):
        if sequence[at] == ended:
            states[at] = state
        elif tables.calls[calls[at]].is_end_of_group:
            ended, state = sequence[at], states[at]


def _settle_ended_batches(dump: RankDump) -> None:
    """Take batches of sends and receives as complete whose end is left out of a dump of what is still active.

    Only the end of a batch is tracked and left out once it is complete; what it holds stays in the dump as scheduled.
    """
    tracks = (*dump.collectives.values(), *dump.peers.values())
    records = {record for track in tracks for record in track.records} if dump.peers else set()
    if not records or len(records) > max(records) - min(records):
        return
    newest = max(records)
    for track in dump.peers.values():
        for sequence, batch in groupby(range(len(track)), key=track.sequence.__getitem__):
            inside = list(batch)
            end = track.records[inside[-1]] + 1
            if len(inside) > 1 and sequence > 0 and end not in records and end < newest:
                for at in inside:
                    track.states[at] = COMPLETED


def _version(value: Any) -> str:
    """Return the version of a dump: a text or a number; a container may be larger in print than any memory."""
    return str(value)[:20] if type(value) in (str, float) or (type(value) is int and abs(value) < _LIMIT) else "?"


def total(dumps: Iterable[RankDump]) -> int:
    """Return how many calls the dumps hold together."""
    return sum(dump.entries for dump in dumps)
