"""Puts ranks that stand in the same place together, and tells which group is the odd one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from distkb.evidence.readers.stacks.known import WAITING
from distkb.evidence.readers.stacks.model import Dump
from distkb.evidence.readers.stacks.place import StackPosition, place_of, progress, representative, role
from distkb.evidence.text.ranks import listed


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One rank and where it stands."""

    dump: Dump
    place: StackPosition
    moved: bool | None = None
    """Whether it went on between its last two snapshots; None where there is one only."""

    @property
    def label(self) -> str:
        """The rank's number, or its pid where the rank is not known."""
        return label_of([self])


class RankGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks in one place."""

    place: StackPosition
    members: tuple[Standing, ...]

    @property
    def label(self) -> str:
        """The ranks, runs of them shortened: `0–2, 4–7`."""
        return label_of(self.members)

    @property
    def waits(self) -> bool:
        """Whether its ranks may be waiting for others."""
        return self.place.kind in WAITING and not self.stopped

    @property
    def stopped(self) -> bool:
        """Whether its ranks are stopped by a signal; such ranks are never in a group with others."""
        return self.members[0].dump.stopped


def label_of(standing: Iterable[Standing]) -> str:
    """Return the ranks in short; those whose number is not known as `? (pid 4242)`, `2 × ?`."""
    dumps = [one.dump for one in standing]
    parts = [listed(dump.rank for dump in dumps if dump.rank is not None)]
    unknown = [dump.pid for dump in dumps if dump.rank is None]
    pids = ", ".join(str(pid) for pid in unknown if pid is not None)
    nameless = unknown.count(None)
    if pids:
        parts.append(f"? (pid {pids})")
    if nameless:
        parts.append("?" if nameless == 1 else f"{nameless} × ?")
    return ", ".join(part for part in parts if part)


def standings(dumps: Iterable[Dump]) -> list[Standing]:
    """Return where every rank stands; launchers and workers are left out, dumps of one rank count as its snapshots."""
    found: list[Standing] = []
    for dump in merged(dump for dump in dumps if role(dump) == "rank"):
        threads = [representative(snapshot) for snapshot in dump.snapshots[-2:]]
        moved = progress(threads[0]) != progress(threads[1]) if len(threads) == 2 else None
        found.append(Standing(dump=dump, place=place_of(threads[-1] if threads else None), moved=moved))
    return sorted(found, key=lambda s: (s.dump.rank is None, s.dump.rank or 0, s.dump.pid or 0))


def merged(dumps: Iterable[Dump]) -> list[Dump]:
    """Join what was dumped of one process at several times."""
    found: list[Dump] = []
    places: dict[tuple[object, ...], list[int]] = {}
    for dump in dumps:
        key = _key(dump, len(found))
        same = next((at for at in places.get(key, ()) if _one(found[at], dump)), None)
        if same is None:
            places.setdefault(key, []).append(len(found))
            found.append(dump)
        else:
            old = found[same]
            joined = (*old.snapshots, *dump.snapshots)[-16:]
            found[same] = msgspec.structs.replace(dump, pid=dump.pid or old.pid, snapshots=joined)
    return found


def _key(dump: Dump, index: int) -> tuple[object, ...]:
    if dump.rank is not None:
        return ("rank", dump.rank)
    return ("index", index) if dump.pid is None else ("pid", dump.host, dump.pid)


def _one(old: Dump, new: Dump) -> bool:
    return old.pid is None or new.pid is None or (old.pid == new.pid and old.host == new.host)


def groups_of(standing: Iterable[Standing]) -> list[RankGroup]:
    """Return the groups, the largest first; ranks that work are together where their function is the same."""
    members: dict[tuple[object, ...], list[Standing]] = {}
    for one in standing:
        members.setdefault((one.dump.stopped, *_same(one.place)), []).append(one)
    groups = [RankGroup(place=each[0].place, members=tuple(each)) for each in members.values()]
    return sorted(groups, key=lambda group: -len(group.members))


def _same(place: StackPosition) -> tuple[object, ...]:
    """Key of equal places: the line counts for ranks that wait, not for those that work. Nodes may have other paths."""
    names = tuple((frame.path.replace("\\", "/").rpartition("/")[2], frame.function) for frame in place.frames)
    lines = tuple(frame.line for frame in place.frames) if place.kind in WAITING else ()
    return place.kind, place.op, names if lines else names[:1], lines


def main_group(groups: Sequence[RankGroup]) -> RankGroup | None:
    """Return the group of those that wait for the others: the largest one in a collective.

    A barrier comes after other collectives of the same size, because it is what one rank alone is sent into.
    """
    waiting = [group for group in groups if group.waits]
    if not waiting:
        return next((group for group in groups if not group.stopped), groups[0] if groups else None)

    def weight(group: RankGroup) -> tuple[int, bool, bool, bool]:
        kind = group.place.kind
        alone_at_zero = [member.dump.rank for member in group.members] == [0]
        return len(group.members), kind in ("collective", "backward", "barrier"), kind != "barrier", not alone_at_zero

    return max(waiting, key=weight)
