"""The calls of one rank in one group as columns of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

SCHEDULED, STARTED, COMPLETED = 0, 1, 2
STATES = {"scheduled": SCHEDULED, "started": STARTED, "completed": COMPLETED}
STATE_NAMES = ("scheduled", "started", "completed")


class GroupKey(NamedTuple):
    """A process group as one rank names it."""

    name: str
    desc: str


class Kind:
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

    def extend(self, sequence: Iterable[int], kinds: Sequence[Kind], records: Iterable[int]) -> None:
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
