"""What was seen, with where it was seen: the one type that readers, probes and answers produce."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Source = Literal["log", "report", "fact", "answer", "probe"]


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the evidence, with its words."""

    text: str
    """The line as printed, control characters removed, secrets masked, cut to a readable length."""
    path: str | None = None
    """As the user named it; None for report text that came from a pipe, and for facts."""
    line: int | None = None
    """1-based."""
    rank: int | None = None
    time: float | None = None
    """Seconds since the epoch, or since midnight where the log prints no date; only differences are used."""


State = Literal["missing", "silent", "killed", "failed", "works", "waits", "done"]
"""What became of a rank, in the order in which one looks: it printed nothing, fell silent, was killed from outside,
failed by itself, was at work, waited for others, or came to its end."""


class RankState(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the roll call."""

    rank: int
    state: State
    place: str = ""
    """Where it stood, as `call (file:line)`; empty where no stack or traceback tells."""
    last: Quote | None = None
    """Its failure, or the last line that it printed of its own work."""
    sources: tuple[str, ...] = ()
    """Files that its lines come from."""
    certainty: float = 1.0
    """How sure it is that these lines are this rank's: less where only a name of a file says so."""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """One of several runs whose logs lie in one folder."""

    name: str
    """The folder that torchrun made for it, or the job's name and number."""
    files: int
    start: float
    """First and last time that its lines say, in seconds."""
    end: float
    diagnosed: bool
    """True for the newest; the others were not read further."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is known about the run."""

    id: str
    """Id of a signature or finding of the catalogue, or `fact=value`."""
    source: Source
    reader: str = ""
    """Which reader of artifacts saw it: `stacks`, `flight-recorder`, `script`, ...; empty for logs and words."""
    present: bool = True
    """False where it was looked for and is known to be absent."""
    certainty: float = 1.0
    """How far to trust it, from 0 (not at all) to 1 (fully); its likelihood is raised to this power."""
    quotes: tuple[Quote, ...] = ()
    """Where it was seen, first occurrence first; at most a few."""
    count: int = 1
    values: dict[str, str] = {}
    """Named groups of the signature's first match."""
    commands: tuple[str, ...] = ()
    """Commands that repair it, made from what was read."""


def absent(identities: Iterable[str]) -> tuple[Observation, ...]:
    """Return the observations that say that probes and readers looked for these and did not find them."""
    return tuple(Observation(id=identity, source="probe", present=False) for identity in identities)


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was given and could not be read; the rest is still diagnosed."""

    path: str
    code: str
    """Key of the sentence in `locale`: missing, permission, binary, empty, no-logs, not-a-file, bad-gzip, ..."""
    detail: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read for one diagnosis."""

    observations: tuple[Observation, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    log_coverage: float = 0.0
    """How far the absence of a message in the logs means that it was not printed:
    0 without logs, up to 1 for the complete output of every rank."""
    affinity: dict[str, float] = {}
    """Entry id → how well the report's words fit it: natural-log likelihood ratio against the average entry."""
    notes: tuple[Quote, ...] = ()
    """The course of events in order of time: first failure first."""
    ranks: tuple[RankState, ...] = ()
    """The roll call: every rank of the world, as far as it is known."""
    runs: tuple[RunState, ...] = ()
    """In order of time, where there are several: only the newest is diagnosed."""
    bytes_read: int = 0
