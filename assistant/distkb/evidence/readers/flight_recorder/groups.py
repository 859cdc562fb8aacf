"""Puts the ranks' dumps together by process group."""

from __future__ import annotations

from collections.abc import Mapping

from distkb.evidence.readers.flight_recorder.calls import Call
from distkb.evidence.readers.flight_recorder.dump import RankDump, Tables
from distkb.evidence.readers.flight_recorder.track import COMPLETED, SCHEDULED, STARTED, GroupKey, Track
from distkb.evidence.text.ranks import listed

_DEFAULT = "default_pg"
_UNNAMED = ("", "undefined")


class ProcessGroup:
    """One process group: who belongs to it, and what each of them called in it."""

    __slots__ = ("ended", "enqueued", "key", "label", "lost", "members", "members_known", "peers", "starts", "tracks")

    def __init__(self, key: GroupKey, members: tuple[int, ...]) -> None:
        self.key = key
        self.members = members
        """Global ranks, sorted: their position is the rank within the group."""
        self.members_known = bool(members)
        self.tracks: dict[int, Track] = {}
        self.peers: dict[int, Track] = {}
        self.starts: set[int] = set()
        """Ranks on which calls are seen to begin on the GPU."""
        self.enqueued: dict[int, int] = {}
        """Number of each rank's last collective, as its status has it, where its entries may be gone."""
        self.ended: dict[int, int] = {}
        """Number of each rank's last collective that has completed, where it is sure which status is the group's."""
        self.lost: frozenset[int] = frozenset()
        """Ranks of which nothing in this group is known any more: their ring buffers have overwritten it."""
        self.label = ""

    @property
    def used(self) -> bool:
        """Whether anything was called in it."""
        return bool(self.tracks or self.peers)


def join(dumps: Mapping[int, RankDump], tables: Tables) -> list[ProcessGroup]:
    """Return the groups that were used, the default group first.

    Groups of one name with other ranks are other groups: names are counted on each rank by itself.
    Of a group without entries the calls are those that the status counts.
    """
    groups: dict[tuple[GroupKey, tuple[int, ...]], ProcessGroup] = {}
    world: set[int] = set(dumps)
    for dump in dumps.values():
        for key, members in dump.members.items():
            if key.name == "" or key.desc == _DEFAULT:
                world.update(members)
            if members and key.name:
                groups.setdefault((key, members), ProcessGroup(key, members))
    for rank in sorted(dumps):
        dump = dumps[rank]
        for key, track in dump.collectives.items():
            group = _group(groups, dump, key)
            group.tracks[rank] = track
            if dump.sees_starts:
                group.starts.add(rank)
        for key, track in dump.peers.items():
            _group(groups, dump, key).peers[rank] = track
    for group in groups.values():
        if not group.used:
            _count_calls(group, dumps, tables)
    used = [group for group in groups.values() if group.used]
    for group in used:
        if not group.members_known:
            group.members = tuple(sorted(world if group.key.desc == _DEFAULT else {*group.tracks, *group.peers}))
        _read_status(group, dumps)
        group.lost = frozenset(rank for rank in group.members if rank in dumps and _is_lost(group, dumps[rank]))
    used.sort(key=lambda group: (group.key.desc != _DEFAULT, group.key.name.zfill(8), group.members))
    _label(used)
    return used


def _read_status(group: ProcessGroup, dumps: Mapping[int, RankDump]) -> None:
    """Take each member's last collective from its status; ranks without entries number the group as the others do.

    ProcessGroupNCCL writes the number of the last call there, which is another count for sends and receives.
    """
    members = [rank for rank in group.members if rank in dumps]
    called = {*group.tracks, *group.peers}
    own = {rank: number for rank in members if (number := dumps[rank].numbers.get(group.key))}
    seen = {number for rank, number in own.items() if rank in called} or set(own.values())
    shared = next(iter(seen)) if len(seen) == 1 else None
    for rank in members:
        number = own.get(rank)
        if rank not in called and shared is not None and not _is_of_another(shared, group.key, dumps[rank]):
            number = shared
        last = dumps[rank].status.get(number or "")
        is_mixed = rank in group.peers or (rank not in group.tracks and bool(group.peers))
        if last is not None and last.enqueued >= 0 and not is_mixed:
            group.enqueued[rank] = last.enqueued
            if rank in group.tracks or len(dumps[rank].status) == 1:
                group.ended[rank] = last.completed


def _is_of_another(number: str, key: GroupKey, dump: RankDump) -> bool:
    """Whether a rank's entries have this number for another group."""
    return any(dump.numbers.get(other) == number for other in {*dump.collectives, *dump.peers} - {key})


_MOST = 64
"""Calls of one rank that are told from its status."""


def _count_calls(group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> None:
    """Give the members of a group without entries the calls that their status counts, but for those long ended.

    Where one member has ended more calls than another has made, the numbers are those of sends and receives, which are
    counted by each rank alone, or the dumps are of different moments: they say nothing then.
    """
    found = {}
    for rank in group.members:
        last = dumps[rank].status.get(dumps[rank].numbers.get(group.key, "")) if rank in dumps else None
        if last is not None:
            found[rank] = last
    if not found or max(last.completed for last in found.values()) > min(last.enqueued for last in found.values()):
        return
    call = tables.call(Call(op="collective", backend="?", inputs=(), outputs=(), input_dtypes=(), output_dtypes=()))
    for rank, last in found.items():
        track = group.tracks[rank] = Track()
        for number in range(max(last.completed, last.enqueued - _MOST, 0), last.enqueued + 1):
            state = COMPLETED if number <= last.completed else STARTED if number <= last.started else SCHEDULED
            track.sequence.append(number)
            track.calls.append(call)
            track.places.append(0)
            track.records.append(_UNORDERED + number)
            track.states.append(state)
        if dumps[rank].sees_starts:
            group.starts.add(rank)


_UNORDERED = 1 << 40
"""Above the numbers of entries: what the status counts has no place in the rank's own order."""


def _is_lost(group: ProcessGroup, dump: RankDump) -> bool:
    """Whether a rank may have called anything in a group; a dump of active calls holds what is open of it."""
    if dump.rank in group.tracks or dump.rank in group.peers or dump.rank in group.enqueued:
        return False
    return dump.first_record > 0 and dump.has_ended_calls and not dump.knows_its_groups


def _group(groups: dict[tuple[GroupKey, tuple[int, ...]], ProcessGroup], dump: RankDump, key: GroupKey) -> ProcessGroup:
    members = dump.members.get(key, ())
    if not members:
        members = next((ranks for other, ranks in dump.members.items() if other.name == key.name and key.name), ())
    if dump.rank not in members:
        members = ()
    return groups.setdefault((key, members), ProcessGroup(key, members))


def _label(groups: list[ProcessGroup]) -> None:
    """Name the groups by what the user called them, with their ranks where that names several."""
    counts: dict[str, int] = {}
    for group in groups:
        desc = group.key.desc
        name = "default" if desc == _DEFAULT else group.key.name if desc in _UNNAMED else desc
        group.label = name or "?"
        counts[group.label] = counts.get(group.label, 0) + 1
    for group in groups:
        if counts[group.label] > 1:
            group.label += f" [{listed(group.members, 4)}]"
