"""Worked incidents: what was seen, in what order, what it could have been, and where it led."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from distkb.catalogue.problem import Problem
from distkb.catalogue.records import Record, Reference, Text
from distkb.catalogue.source import INVALID, read
from distkb.catalogue.validate import convert

FILE, LOGS = "incident.yaml", "logs"


class Moment(Record, frozen=True, kw_only=True):
    """One thing that happened or was seen."""

    t: float | None = None
    """Seconds since the start of the run; None for what was found later."""
    rank: int | None = None
    """None where it concerns all ranks or nobody in particular."""
    what: Text


class Hypothesis(Record, frozen=True, kw_only=True):
    """One explanation that was considered."""

    cause: str
    """Id of an entry or of one of its causes."""
    speaks_for: tuple[Text, ...] = msgspec.field(default=(), name="for")
    speaks_against: tuple[Text, ...] = msgspec.field(default=(), name="against")


class Variant(Record, frozen=True, kw_only=True):
    """One of several failures that look alike from outside."""

    id: str
    """Name of its folder of logs, and of the program's `--variant`."""
    title: Text
    answer: str
    """Id of the cause that it is."""
    also: tuple[str, ...] = ()
    """Causes that describe the same mistake from another side."""
    differs: int | None = None
    """The rank that does something else than the others."""
    timeline: tuple[Moment, ...]
    hypotheses: tuple[Hypothesis, ...]
    outcome: Text


class Recorded(Record, frozen=True, kw_only=True):
    """Where the logs come from."""

    torch: str
    program: str
    """Id of the entry whose program it was, or the file beside the incident."""
    nproc: int = 2


class Incident(Record, frozen=True, kw_only=True):
    """One incident, from the first complaint to the repair."""

    id: str
    slug: str
    title: Text
    summary: Text
    answer: str | None = None
    """Id of the cause that it was; None where the variants say it."""
    differs: int | None = None
    """The rank that does something else than the others; None where the variants say it."""
    timeline: tuple[Moment, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    variants: tuple[Variant, ...] = ()
    outcome: Text
    references: tuple[Reference, ...]
    recorded: Recorded


class StoredIncident(msgspec.Struct, frozen=True, kw_only=True):
    """An incident with its folder."""

    incident: Incident
    directory: Path

    def logs(self, variant: str | None = None) -> Path:
        """Return the folder of the logs, or of one variant's."""
        return self.directory / LOGS / variant if variant else self.directory / LOGS


def load_incidents(knowledge_bases: Sequence[Path]) -> tuple[list[StoredIncident], list[Problem]]:
    """Load the incidents of knowledge bases, in order of id, with everything that is wrong with their files."""
    found: list[StoredIncident] = []
    problems: list[Problem] = []
    for base in knowledge_bases:
        for path in sorted((base / "incidents").glob(f"*/{FILE}")):
            document, faults = read(path)
            problems += faults
            if document.value is INVALID:
                continue
            incident, faults = convert(document, (), Incident)
            problems += faults
            if incident is not None:
                found.append(StoredIncident(incident=incident, directory=path.parent))
    return sorted(found, key=lambda one: one.incident.id), problems
