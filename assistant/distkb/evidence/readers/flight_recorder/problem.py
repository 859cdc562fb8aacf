"""What is wrong in one group at one sequence number, before it is put into words."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from distkb.evidence.readers.flight_recorder.groups import ProcessGroup

Kind = Literal[
    "op",
    "shape",
    "dtype",
    "behind",
    "never",
    "missing",
    "running",
    "cross",
    "peer",
    "peer-size",
    "stray",
    "transfer",
    "later",
    "count",
    "unusual",
    "circle",
    "root",
    "no-root",
    "too-short",
    "not-at-once",
    "exchange",
]


class Point(NamedTuple):
    """A call that ranks wait in: the group's position in the list, and the sequence number."""

    group: int
    sequence: int


class Wait(NamedTuple):
    """Where one rank stands: its oldest call that has not completed."""

    point: Point
    position: int
    record: int


class At(msgspec.Struct, frozen=True, kw_only=True):
    """A call of one rank: its track and the position in it."""

    rank: int
    position: int
    is_peer: bool = False


class Problem(msgspec.Struct, kw_only=True):
    """One problem; `culprits` are the ranks that differ, `others` those that wait or agree."""

    kind: Kind
    group: ProcessGroup
    sequence: int
    culprits: tuple[int, ...]
    others: tuple[int, ...] = ()
    shown: At | None = None
    """A call of a culprit: the other operation, or the last one before it stayed away."""
    expected: At | None = None
    """The call of the others."""
    later: int = 0
    """Sequence numbers after this one at which the same ranks differ too."""
    left_out: int = 0
    """Above 0: the culprits' calls are the others' that many numbers later; below 0: they made so many more."""
    other_group: ProcessGroup | None = None
    alike: int = 0
    """Further groups in which the same call lacks its ranks; they are among the culprits."""
    order: int = 1 << 62
    """Smallest number of the entry in any rank's own order: the earliest problem is the first cause."""
    is_consequence: bool = False
    exchanged: int = -1
    """Transfers between the two ranks before, either way; -1 where the recording has lost its beginning."""
    this_way: int = -1
    """Of these, the ones in the direction of the call that waits."""
    detail: dict[str, str] = msgspec.field(default_factory=dict)
