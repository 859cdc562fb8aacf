"""What a reader of artifacts gives back: the same for configurations, stacks, dumps, scripts and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from distkb.evidence.observation import Observation, Skipped, absent

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.stacks.group import Standing


class ArtifactReading(msgspec.Struct, frozen=True, kw_only=True):
    """All that one reader found in the files it was given."""

    reader: str = ""
    """Name of the reader: `stacks`, `flight-recorder`, `config`, `script`, `trace`."""
    observations: tuple[Observation, ...] = ()
    """What was found, each with its place and the words that show it."""
    clear: tuple[str, ...] = ()
    """Ids of findings that were looked for and are absent."""
    facts: dict[str, Any] = {}
    """What else is known, as plain data; `implies` lists intake facts (`symptom=hang`) that it answers."""
    standing: tuple[Standing, ...] = ()
    """Where the dumped processes stand: for the model of the run."""
    project: Project | None = None
    """The scripts as one project: to look up there where the ranks stood."""
    skipped: tuple[Skipped, ...] = ()
    """Files that could not be read; the rest still counts."""
    bytes_read: int = 0

    def said(self) -> tuple[Observation, ...]:
        """Return what was found, and what was looked for in vain."""
        return (*self.observations, *absent(self.clear))
