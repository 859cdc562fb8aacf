"""What a reader of artifacts is and gives back: the same for configurations, stacks, dumps, scripts and traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

import msgspec

from distkb.evidence.guarded import guarded_together
from distkb.evidence.observation import Observation, Skipped, absent
from distkb.evidence.walk import File, take_stock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.stacks.group import Standing


Rest = ParamSpec("Rest")


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


def careful(
    read: Callable[Concatenate[Sequence[Path], Rest], ArtifactReading],
) -> Callable[Concatenate[Sequence[Path], Rest], ArtifactReading]:
    """Return a reader of files for which a file that it fails on is one note, whoever calls it."""

    @wraps(read)
    def reading(paths: Sequence[Path], /, *rest: Rest.args, **named: Rest.kwargs) -> ArtifactReading:
        failed: list[Skipped] = []
        found = guarded_together(lambda some: read(some, *rest, **named), paths, str, failed) or ArtifactReading()
        return msgspec.structs.replace(found, skipped=(*found.skipped, *failed)) if failed else found

    return reading


class Reader(Protocol):
    """One kind of artifact: which files are of it, and what they say."""

    @property
    def name(self) -> str:
        """As `ArtifactReading.reader` has it."""
        ...

    @property
    def most(self) -> int:
        """Files that only may hold such a thing and are looked into; the rest is passed over."""
        ...

    def is_named(self, file: File) -> bool:
        """Whether the name alone says so; such files are looked into however many there are."""
        ...

    def may_hold(self, file: File) -> bool:
        """Whether the name does not speak against it."""
        ...

    def holds(self, file: File) -> bool:
        """Whether what stands in it says so."""
        ...

    def nothing_else(self, file: File) -> bool:
        """Whether it is no log besides, for one that holds such a thing."""
        ...

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:
        """Return what the files say; `said` are the facts that the readers before have of the run."""
        ...


class Sorter:
    """Tells, file by file, which of them one reader takes."""

    def __init__(self, reader: Reader) -> None:
        """Take the reader; files are counted from here on."""
        self.reader = reader
        self._looked = 0
        self.passed_over = 0
        """Files that were not looked at, because there are too many."""

    def takes(self, file: File) -> bool:
        """Whether the file is one for the reader."""
        if not self.reader.may_hold(file):
            return False
        if not self.reader.is_named(file):
            self._looked += 1
            if self._looked > self.reader.most:
                self.passed_over += 1
                return False
        return self.reader.holds(file)


def find(reader: Reader, paths: Iterable[Path]) -> list[Path]:
    """Return the files under the given paths that one reader takes."""
    sorter = Sorter(reader)
    found: list[Path] = []
    for file in take_stock(tuple(paths)).files:
        if sorter.takes(file):
            found.append(file.path)
        file.forget()
    return found
