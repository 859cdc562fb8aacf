"""Finds and reads the dumps of all ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb.evidence.artifact import ArtifactReading, careful, find
from distkb.evidence.readers.flight_recorder.files import MAX_STRANGERS, is_named, looks_like_dump, rank_of
from distkb.evidence.walk import File


class FlightRecorderReader:
    """Dumps of the flight recorder."""

    name = "flight-recorder"
    most = MAX_STRANGERS

    def is_named(self, file: File) -> bool:
        """By the prefixes that torch and its tutorials use."""
        return is_named(file.path)

    def may_hold(self, file: File) -> bool:
        """By the rank that its name ends with."""
        return rank_of(file.path) is not None

    def holds(self, file: File) -> bool:
        """By its first bytes; one whose name says that it is a dump counts even if it is damaged."""
        return looks_like_dump(file.path, named=self.is_named(file))

    def nothing_else(self, file: File) -> bool:  # noqa: ARG002 - the same for all of them
        """Always: none is a log."""
        return True

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:  # noqa: ARG002 - it needs none of it
        """Align what the ranks called."""
        return read_flight_recorder(paths)


def find_flight_recorder(paths: Sequence[Path]) -> list[Path]:
    """Return the dumps under the paths; a file whose name says that it is one counts even if it is damaged."""
    return find(FlightRecorderReader(), paths)


@careful
def read_flight_recorder(paths: Sequence[Path]) -> ArtifactReading:
    """Return what the dumps say together; a dump that cannot be read is skipped, and its rank counts as missing."""
    from distkb.evidence.readers.flight_recorder.analysis import analyse
    from distkb.evidence.readers.flight_recorder.load import load

    loaded = load(paths)
    if not loaded.dumps:
        return ArtifactReading(skipped=loaded.skipped, bytes_read=loaded.bytes_read)
    return analyse(loaded)
