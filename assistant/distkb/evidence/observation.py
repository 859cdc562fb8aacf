"""What was seen, with where it was seen: the one type that readers, probes and answers produce."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

Source = Literal["log", "report", "fact", "answer", "probe"]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""Also in a file that was changed by hand: what is no share of anything is refused where it is read."""
Weight = Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)]


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
    certainty: Share = 1.0
    """How sure it is that these lines are this rank's: less where only a name of a file says so."""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """One of several runs whose logs lie in one folder or follow one another in one file."""

    name: str
    """The folder that torchrun made for it, the job's name and number, or a file with its first and last line."""
    files: int
    start: float | None
    """First and last time that its lines say, in seconds; None where they say none."""
    end: float | None
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
    certainty: Share = 1.0
    """How far to trust it, from 0 (not at all) to 1 (fully); its likelihood is raised to this power."""
    quotes: tuple[Quote, ...] = ()
    """Where it was seen, first occurrence first; at most a few."""
    count: int = 1
    values: dict[str, str] = {}
    """Named groups of the signature's first match."""
    commands: tuple[str, ...] = ()
    """Commands that repair it, made from what was read."""
    supposes: str = ""
    """A fact as `fact=value` without which it says nothing; it counts less while nobody has said whether that is so."""


def absent(identities: Iterable[str]) -> tuple[Observation, ...]:
    """Return the observations that say that probes and readers looked for these and did not find them."""
    return tuple(Observation(id=identity, source="probe", present=False) for identity in identities)


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was given and could not be read; the rest is still diagnosed."""

    path: str
    code: str
    """Key of the sentence in `locale`: missing, permission, binary, empty, no-logs, not-a-file, bad-gzip, ..."""
    detail: str = ""


class PassageLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a passage."""

    number: int
    text: str
    ranks: tuple[int, ...] = ()
    """Who stands there, in code."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that stand near each other: a traceback, the code around a statement, the end of a rank's output."""

    path: str
    rows: tuple[PassageLine, ...]
    ranks: tuple[int, ...] = ()
    """Whose lines they are; of a traceback, all who left the same one."""
    time: float | None = None


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks that stood in one place of the code."""

    ranks: tuple[int, ...]
    waits: bool
    call: str = ""
    """The call of a library in which they stood, where it is known."""
    frames: tuple[Quote, ...]
    """The user's calls, outermost first: path and line are those of the script."""
    seen: Quote
    """Where a traceback or a dump shows it."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A line that ranks printed, apart from its numbers, as the first of them printed it."""

    quote: Quote
    ranks: tuple[int, ...]
    times: int
    """How often all of them did."""
    also: tuple[Quote, ...] = ()
    """The same line with other numbers, of other ranks first."""
    alone: bool = False
    """Whether it is one of those that only a few printed, of ranks that otherwise talk alike."""
    last: bool = False
    """Whether a rank printed it last."""


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of one line that are others on a few ranks."""

    number: str
    ranks: tuple[int, ...]
    usual: str
    """What the others printed."""
    quote: Quote


class Closeup(msgspec.Struct, frozen=True, kw_only=True):
    """The run seen from near, for those who read its lines themselves."""

    files: int = 0
    lines: int = 0
    world: int | None = None
    attempt: int | None = None
    start: Quote | None = None
    """The first line that carries a time, and the last."""
    end: Quote | None = None
    failures: tuple[Passage, ...] = ()
    """Failures with their tracebacks, alike ones once, in order: what only echoes another comes last."""
    stands: tuple[Stand, ...] = ()
    said: tuple[Said, ...] = ()
    """What was printed once or a few times, and not again and again."""
    course: tuple[Quote, ...] = ()
    """The lines that one rank printed again and again: the first, the last, and those at which their numbers turn."""
    odd: tuple[Odd, ...] = ()
    code: tuple[Passage, ...] = ()
    """The scripts around the places where ranks stood or failed."""
    scripts: tuple[Passage, ...] = ()
    """All of the scripts."""
    facts: dict[str, str] = {}
    """What configurations and scripts say of the run."""
    rank: tuple[Passage, ...] = ()
    """The output of the one rank that was asked for: its beginning and its end."""


class LineRange(msgspec.Struct, frozen=True):
    """Lines of a file that follow one another."""

    path: str
    first: int
    last: int

    def holds(self, quote: Quote) -> bool:
        """Whether a quote is of one of these lines."""
        return quote.path == self.path and quote.line is not None and self.first <= quote.line <= self.last


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read for one diagnosis."""

    observations: tuple[Observation, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    log_coverage: Share = 0.0
    """How far the absence of a message in the logs means that it was not printed:
    0 without logs, up to 1 for the complete output of every rank."""
    affinity: dict[str, Weight] = {}
    """Entry id → how well the report's words fit it, or those of an error that nothing else explains: natural-log
    likelihood ratio against the average entry."""
    printed: dict[str, Quote] = {}
    """The kinds of lines that the run printed, each with one of them, until they are compared."""
    likeness: dict[str, Weight] = {}
    """Id of an entry or of a cause → how well what the run printed of itself, and what its scripts say, fit it:
    natural-log likelihood ratios against the average one, which add up. It tells what was at work, not that anything
    failed."""
    lacking: tuple[str, ...] | None = None
    """Ids of the causes that take something which the code does not have; None where not all of it was read."""
    alike: dict[str, Quote] = {}
    """Id of a likely cause → the line that fits it best by its words."""
    unreached: tuple[LineRange, ...] = ()
    """Where in the scripts no rank came to, until what is said of them is put to the rest."""
    unexplained: Quote | None = None
    """The first failure, where no message of the catalogue fits it: what a library raised, or a line of an error."""
    notes: tuple[Quote, ...] = ()
    """The course of events in order of time: first failure first."""
    ranks: tuple[RankState, ...] = ()
    """The roll call: every rank of the world, as far as it is known."""
    runs: tuple[RunState, ...] = ()
    """In order of time, where there are several: only the newest is diagnosed."""
    bytes_read: int = 0
    closeup: Closeup | None = None
    """Where it was asked for."""
