"""Finds and reads training scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb.evidence.artifact import ArtifactReading, careful, find
from distkb.evidence.walk import File

MAX_FILES = 400
"""Scripts read in one call."""
_HEAD = 512


class ScriptReader:
    """Training scripts in Python."""

    name = "script"
    most = MAX_FILES

    def is_named(self, file: File) -> bool:
        """A file that is named itself always counts."""
        return file.given

    def may_hold(self, file: File) -> bool:
        """By its suffix, and its first line where it was named itself; an empty `__init__.py` is no script."""
        if file.given:
            return file.path.suffix == ".py" or _starts_python(file.start(_HEAD))
        return file.path.suffix == ".py" and file.size > 1 and not file.tucked

    def holds(self, file: File) -> bool:  # noqa: ARG002 - what cannot be parsed is a note of the reader
        """Always: the name has said it."""
        return True

    def nothing_else(self, file: File) -> bool:  # noqa: ARG002 - the same for all of them
        """Always: none is a log."""
        return True

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:
        """Read them as one project, with the modules that they import, as configurations say that it is started."""
        return read_scripts(paths, follow=True, spread=said.get("parallelism") or "")


def find_scripts(paths: Sequence[Path]) -> list[Path]:
    """Return the Python files under the given paths, at most `MAX_FILES`; a file that is named itself always counts."""
    return find(ScriptReader(), paths)


def _starts_python(start: bytes) -> bool:
    first = start.partition(b"\n")[0]
    return first.startswith(b"#!") and b"python" in first


@careful
def read_scripts(paths: Sequence[Path], *, follow: bool = False, spread: str = "") -> ArtifactReading:
    """Read scripts as one project and check them; nothing of them is imported or run.

    `follow`: the modules of the project that they import, and that nobody named, are read and checked too. `spread`:
    how configurations say that the model is spread over the ranks, as the fact `parallelism` names it. A file that
    cannot be read or parsed becomes a `Skipped`, and the rest is still checked.
    """
    from distkb.evidence.readers.scripts.analysis import analyse

    return analyse(paths, follow=follow, spread=spread)
