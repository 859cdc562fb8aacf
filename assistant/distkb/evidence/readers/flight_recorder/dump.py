"""One rank's dump as columns of numbers: what matching needs, and no more, for thousands of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any

from distkb.evidence.readers.flight_recorder.batches import settle_coalesced, settle_ended_batches, without_batches
from distkb.evidence.readers.flight_recorder.calls import CALL_FIELDS, Call, Lists, once, parse_call
from distkb.evidence.readers.flight_recorder.pickle_stream import Stream
from distkb.evidence.readers.flight_recorder.place import CallSite, number_of, text_of, user_place
from distkb.evidence.readers.flight_recorder.runs import EntryBlock, integer
from distkb.evidence.readers.flight_recorder.status import Status, keys_of_groups, read_status
from distkb.evidence.readers.flight_recorder.track import COMPLETED, SCHEDULED, STATES, GroupKey, Kind, Track

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


class RankDump:
    """What one rank recorded."""

    __slots__ = (
        "collectives", "first_record", "is_whole", "members", "numbers", "path", "peers", "rank", "status", "version"
    )  # fmt: skip

    def __init__(self, rank: int, path: str, version: str) -> None:
        self.rank = rank
        self.path = path
        self.version = version
        self.members: dict[GroupKey, tuple[int, ...]] = {}
        """Ranks of every group that this rank belongs to; empty where the backend does not record them."""
        self.status: dict[str, Status] = {}
        """How far it came in each group, by its own number of the group, as `pg_status` has it."""
        self.numbers: dict[GroupKey, str] = {}
        """The rank's own numbers of its groups, as far as entries name them or their order tells."""
        self.collectives: dict[GroupKey, Track] = {}
        self.peers: dict[GroupKey, Track] = {}
        self.first_record: int = 0
        """Number of the oldest entry that is left: above 0 the ring buffer has dropped what came before."""
        self.is_whole = False
        """Whether it holds all that the rank has called."""

    @property
    def sees_starts(self) -> bool:
        """Whether calls are seen to begin on the GPU, so that one which is only scheduled has not begun."""
        return any(one.started > 0 for one in self.status.values())

    def status_of_groups(self) -> dict[GroupKey, Status]:
        """Return how far the rank came in the groups of which its own number is known."""
        return {group: self.status[number] for group, number in self.numbers.items() if number in self.status}

    @property
    def knows_its_groups(self) -> bool:
        """Whether the status counts the calls of all groups that were used, and of which one each number is, is known.

        It outlives the entries: in a group without a number nothing was called.
        """
        return bool(self.status) and self.status.keys() <= set(self.numbers.values())

    @property
    def has_ended_calls(self) -> bool:
        """Whether it holds calls that have ended: not only those that are still active were dumped."""
        return any(COMPLETED in track.states for track in (*self.collectives.values(), *self.peers.values()))

    @property
    def entries(self) -> int:
        """How many calls the dump holds."""
        return sum(map(len, (*self.collectives.values(), *self.peers.values())))


class _Kinds(dict[tuple[bytes, ...], Kind]):
    """Kinds of entries of one file, by the bytes that they are written with."""

    def __init__(self, stream: Stream, tables: Tables) -> None:
        self._stream = stream
        self._tables = tables

    def __missing__(self, pieces: tuple[bytes, ...]) -> Kind:
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
    _read_groups(dump, document.get("pg_config"), tables)
    dump.status = read_status(document.get("pg_status"))
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
    newest = max((track.records[-1] for track in (*dump.collectives.values(), *dump.peers.values())), default=-1)
    dump.is_whole = dump.first_record == 0 and dump.entries > newest
    dump.numbers |= keys_of_groups(dump.members, dump.status, dump.numbers)
    for key, track in dump.collectives.items():
        if tables.calls[track.calls[-1]].backend == "gloo":
            # Its status counts sends and receives too, which it does not record, and its entries do not.
            dump.numbers.pop(key, None)
    settle_ended_batches(dump.collectives, dump.peers, dump.status_of_groups(), tables.calls)
    for key, track in dump.collectives.items():
        if key in dump.peers:
            dump.collectives[key] = without_batches(track, dump.peers[key], tables.calls)
    for track in (*dump.collectives.values(), *dump.peers.values()):
        settle_coalesced(track, tables.calls)
        tables.share(track)
    return dump


def _read_groups(dump: RankDump, groups: Any, tables: Tables) -> None:
    """Read the groups' ranks."""
    for name, group in list(groups.items())[:_MAX_GROUPS] if isinstance(groups, dict) else ():
        if not isinstance(group, dict):
            continue
        ranks = group.get("ranks")
        if isinstance(ranks, (list, tuple)):
            ranks = str([rank for rank in ranks if type(rank) is int])
        key = GroupKey(text_of(group.get("name", name)), text_of(group.get("desc")))
        dump.members[key] = tables.members(ranks) if isinstance(ranks, str) else ()


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


def _kind(entry: Mapping[str, Any], tables: Tables) -> Kind:
    group = entry.get("process_group")
    key = GroupKey("?", "")
    if isinstance(group, (list, tuple)) and len(group) == 2:
        key = GroupKey(text_of(group[0]), text_of(group[1]))
    number = _call_number(entry, tables)
    call = tables.calls[number]
    name = entry.get("state")
    state = STATES.get(name, SCHEDULED) if isinstance(name, str) else SCHEDULED
    if call.backend == "gloo" and entry.get("retired") is True:
        # Gloo records no states: all stay scheduled, and retired says that the call has come back.
        state = COMPLETED
    is_p2p = entry.get("is_p2p") is True or call.source >= 0
    own = entry.get("pg_id")
    own = str(own) if type(own) is int and 0 <= own < _LIMIT else ""
    place = tables.place(once(user_place, entry.get("frames"), tables.lists))
    return Kind((key, is_p2p), number, place, state, own)


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


def _version(value: Any) -> str:
    """Return the version of a dump: a text or a number; a container may be larger in print than any memory."""
    return str(value)[:20] if type(value) in (str, float) or (type(value) is int and abs(value) < _LIMIT) else "?"


def total(dumps: Iterable[RankDump]) -> int:
    """Return how many calls the dumps hold together."""
    return sum(dump.entries for dump in dumps)
