"""How far a rank came in each of its groups, as `pg_status` has it: it outlives the entries that it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from distkb.evidence.readers.flight_recorder.place import number_of
from distkb.evidence.readers.flight_recorder.track import GroupKey

_MAX_GROUPS = 20_000
_LAST = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


class Status(NamedTuple):
    """Numbers of the last call of a group that was made, that began and that ended; -1 for none.

    ProcessGroupNCCL writes the number of the last call there, which is another count for sends and receives.
    """

    enqueued: int
    started: int
    """Stays -1 unless TORCH_NCCL_ENABLE_TIMING=1."""
    completed: int

    @property
    def is_at_rest(self) -> bool:
        """Whether all that was called has ended."""
        return 0 <= self.enqueued == self.completed


def read_status(document: Any) -> dict[str, Status]:
    """Return what stands in `pg_status`, by its keys; in a dump in JSON the numbers are texts."""
    found: dict[str, Status] = {}
    for key, last in list(document.items())[:_MAX_GROUPS] if isinstance(document, dict) else ():
        if isinstance(last, dict) and not last.keys().isdisjoint(_LAST):
            found[str(key)[:200]] = Status(*(_number(last.get(name)) for name in _LAST))
    return found


def _number(value: Any) -> int:
    is_none = value is None or (isinstance(value, str) and value.strip().startswith("-"))
    return -1 if is_none else max(-1, number_of(value))


def keys_of_groups(
    groups: Iterable[GroupKey], status: Mapping[str, Status], known: Mapping[GroupKey, str]
) -> dict[GroupKey, str]:
    """Return the keys under which the status has groups of which no entry tells the rank's own number.

    Both tables hold the groups that were used, and a rank numbers its groups in the order in which they were made,
    which is that of their names where these are numbers too; the default group is the first. Some write the names.
    """
    left = [key for key in status if key not in known.values()]
    unknown = [group for group in groups if group not in known]
    found: dict[GroupKey, str] = {}
    for group in unknown:
        names = [name for name in (group.name, group.desc) if name in left and not name.isdecimal()]
        if names:
            found[group] = names[0]
            left.remove(names[0])
    unknown = [group for group in unknown if group not in found]
    first = [group for group in unknown if group.desc == "default_pg"]
    if len(first) == 1 and "0" in left:
        found[first[0]] = "0"
        unknown.remove(first[0])
        left.remove("0")
    if len(left) != len(unknown):
        return found
    if len(left) > 1:
        if not all(text.isdecimal() for text in (*left, *(group.name for group in unknown))):
            return found
        left.sort(key=int)
        unknown.sort(key=lambda group: int(group.name))
    return found | dict(zip(unknown, left, strict=True))
