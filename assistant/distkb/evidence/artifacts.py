"""Everything beside logs that a folder may hold: configurations, stacks, recorder dumps, scripts and traces.

Each kind has its own reader; this module finds what is there and lets each have its say. Readers are imported when
something of their kind turns up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from distkb.catalogue.settings import Refusal, Setting
from distkb.evidence.artifact import ArtifactReading, Reader, Sorter
from distkb.evidence.guarded import guarded, guarded_together
from distkb.evidence.observation import Observation, Skipped, absent
from distkb.evidence.walk import Stock

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.stacks.group import Standing

IMPLIED = 0.6
"""How far an intake fact that follows from a configuration or a script is trusted."""
UNSEEN = 0.3
"""How far it counts that nothing was found in a script: much is hidden behind helpers, containers and libraries."""


class Artifacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was found beside the logs."""

    readings: tuple[ArtifactReading, ...] = ()
    files: frozenset[Path] = frozenset()
    """Files that hold something of these kinds."""
    not_logs: frozenset[Path] = frozenset()
    """Those of them that are no logs: reading them as such would only mislead."""

    settings: tuple[Path, ...] = ()
    """Those of them that may set something: configurations, and lines that start a job."""

    def observations(self, known: frozenset[str], said: frozenset[str]) -> tuple[Observation, ...]:
        """Return what the readers say: findings in `known`, absences, and facts that are not among `said` yet."""
        found = [
            msgspec.structs.replace(o, reader=reading.reader)
            for reading in self.readings
            for o in reading.observations
            if o.id in known
        ]
        present = {o.id for o in found}
        clear = {
            name: 1.0 if reading.reader != "script" else UNSEEN
            for reading in self.readings
            for name in reading.clear
            if name in known and name not in present
        }
        facts: dict[str, Observation] = {}
        for reading in self.readings:
            for fact in reading.facts.get("implies", ()):
                name = str(fact).partition("=")[0]
                if name not in said:
                    facts.setdefault(name, Observation(id=str(fact), source="probe", certainty=IMPLIED))
        missing = [msgspec.structs.replace(o, certainty=clear[o.id]) for o in absent(sorted(clear))]
        return (*found, *missing, *facts.values())

    def standing(self) -> tuple[Standing, ...]:
        """Return where the dumped processes stand."""
        return tuple(one for reading in self.readings for one in reading.standing)

    def project(self) -> Project | None:
        """Return the scripts that were given, as one project."""
        return next((reading.project for reading in self.readings if reading.project is not None), None)

    def told(self) -> dict[str, str]:
        """Return what the configurations say of the run as a whole, in a few words each."""
        plain = (
            (name, value)
            for reading in self.readings
            if reading.reader == "config"
            for name, value in reading.facts.items()
            if isinstance(value, str | int | float)
        )
        return {name: str(value) for name, value in plain}

    def skipped(self) -> tuple[Skipped, ...]:
        """Return what the readers could not read."""
        return tuple(item for reading in self.readings for item in reading.skipped)

    def bytes_read(self) -> int:
        """Return how much was read."""
        return sum(reading.bytes_read for reading in self.readings)


def readers(
    settings: Sequence[Setting], versions: Mapping[str, str | None], refusals: Sequence[Refusal] = ()
) -> tuple[Reader, ...]:
    """Return every reader of something beside logs; the arguments are what configurations are held to."""
    from distkb.evidence.readers.configs import ConfigReader
    from distkb.evidence.readers.flight_recorder import FlightRecorderReader
    from distkb.evidence.readers.scripts import ScriptReader
    from distkb.evidence.readers.stacks import StackReader
    from distkb.evidence.readers.traces import TraceReader

    config = ConfigReader(settings, versions, refusals)
    return config, FlightRecorderReader(), StackReader(), ScriptReader(), TraceReader()


def read_artifacts(
    stock: Stock,
    settings: Sequence[Setting],
    versions: Mapping[str, str | None],
    refusals: Sequence[Refusal] = (),
) -> Artifacts:
    """Read everything beside logs in what was given, each file looked at once. A script may be a configuration too."""
    if not stock.files:
        return Artifacts()
    sorters = [Sorter(reader) for reader in readers(settings, versions, refusals)]
    taken: dict[str, list[Path]] = {}
    not_logs: set[Path] = set()
    failed: list[Skipped] = []
    for file in stock.files:
        for sorter in sorters:
            if guarded(partial(sorter.takes, file), file.name, failed):
                taken.setdefault(sorter.reader.name, []).append(file.path)
                if guarded(partial(sorter.reader.nothing_else, file), file.name, failed):
                    not_logs.add(file.path)
        file.forget()
    readings: list[ArtifactReading] = []
    files: set[Path] = set()
    said: dict[str, Any] = {}
    for reader in (sorter.reader for sorter in sorters if sorter.reader.name in taken):
        found = taken[reader.name]
        reading = guarded_together(partial(reader.read, said=said), found, str, failed)
        if reading is not None:
            said |= reading.facts
            readings.append(msgspec.structs.replace(reading, reader=reader.name))
            files.update(found)
    readings += [ArtifactReading(skipped=tuple(failed))] if failed else []
    return Artifacts(
        readings=tuple(readings),
        files=frozenset(files),
        not_logs=frozenset(not_logs & files),
        settings=tuple(taken.get("config", ())),
    )
