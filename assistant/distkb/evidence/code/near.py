"""Finds the scripts that tracebacks and stacks name, where they lie on this machine, with the modules they import."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from distkb.evidence.code.spots import script_of, spot_of
from distkb.evidence.readers.scripts.imported import is_file, real, with_imported
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.scripts_reader import read_scripts
from distkb.evidence.readers.scripts.source import Script, load_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from distkb.evidence.observation import Observation
    from distkb.evidence.readers.stacks.model import Frame

_MOST_NAMED = 12
_UP = 3
"""Folders above what was given in which a script's path is looked for."""
_ENDS = 4
"""Parts of a path that are looked for below a folder."""


def with_near(
    project: Project | None, frames: Iterable[Frame], given: Sequence[Path]
) -> tuple[Project | None, tuple[Observation, ...]]:
    """Return the scripts that were given with those near by in which ranks stood, and what the latter show.

    A launcher may have been given that starts the script in which the ranks stand.
    """
    lacking = [frame for frame in frames if project is None or script_of(project, frame.path) is None]
    paths = near(lacking, given) if lacking and given else ()
    if not paths:
        return project, ()
    reading = read_scripts(paths)
    if project is None or reading.project is None:
        return reading.project or project, reading.observations
    known = {real(script.path) for script in project.scripts}
    more = [script for script in reading.project.scripts if real(script.path) not in known]
    return Project([*project.scripts, *more], project.declared.spread), reading.observations


def near(standing: Iterable[Frame], given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the scripts in which the ranks stood, and the modules of theirs that lie beside them.

    A script counts where the frames fit its lines: another version of it would only mislead.
    """
    frames: dict[str, set[Frame]] = {}
    for frame in standing:
        frames.setdefault(frame.path, set()).add(frame)
    folders = list(_folders(given))
    found: dict[Path, Script] = {}
    for path, there in list(frames.items())[:_MOST_NAMED]:
        for candidate in _candidates(path, folders):
            script = load_script(candidate) if is_file(candidate) else None
            if isinstance(script, Script) and _fits(script, there):
                found[candidate] = script
                break
    return tuple(script.path for script in with_imported(found.values()))


def _fits(script: Script, frames: Iterable[Frame]) -> bool:
    project = Project([script])
    return all(spot_of(project, frame) is not None for frame in frames)


def _folders(given: Sequence[Path]) -> Iterator[Path]:
    seen: dict[Path, None] = {}
    for path in (*given, Path()):
        here = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as the user named them
        seen.setdefault(here if here.is_dir() else here.parent)
    for folder in list(seen):
        for above in list(folder.parents)[:_UP]:
            seen.setdefault(above)
    yield from seen


def _candidates(path: str, folders: Sequence[Path]) -> Iterator[Path]:
    pure = PurePosixPath(posixpath.normpath(path.replace("\\", "/")))  # `torchrun ../train.py` leaves `..` inside
    if pure.suffix != ".py" or ".." in pure.parts:
        return
    if pure.is_absolute():
        yield Path(pure)
    parts = [part for part in pure.parts if part not in {"/", "."}]
    for length in range(min(_ENDS, len(parts)), 0, -1):
        for folder in folders:
            yield folder.joinpath(*parts[-length:])
