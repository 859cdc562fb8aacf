"""Finds the scripts that tracebacks and stacks name, where they lie on this machine, with the modules they import."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from distkb.evidence.code.spots import spot_of
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.read_scripts import read_scripts
from distkb.evidence.readers.scripts.source import Script, load_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from distkb.evidence.artifact import ArtifactReading
    from distkb.evidence.readers.stacks.model import Frame

MOST_FILES = 60
"""Scripts read because others name them."""
_MOST_NAMED = 12
_UP = 3
"""Folders above what was given in which a script's path is looked for."""
_ENDS = 4
"""Parts of a path that are looked for below a folder."""


def read_near(frames: Iterable[Frame], given: Sequence[Path]) -> ArtifactReading:
    """Read the scripts in which the ranks stood, as the reader of scripts does those that are given."""
    return read_scripts(near(frames, given))


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
            script = load_script(candidate) if _is_script(candidate) else None
            if isinstance(script, Script) and _fits(script, there):
                found[candidate] = script
                break
    waiting = list(found.values())
    while waiting and len(found) < MOST_FILES:
        script = waiting.pop()
        for module in _imported(script):
            if module not in found and len(found) < MOST_FILES:
                loaded = load_script(module)
                if not isinstance(loaded, Skipped):
                    found[module] = loaded
                    waiting.append(loaded)
    return tuple(found)


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
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.suffix != ".py" or ".." in pure.parts:
        return
    if pure.is_absolute():
        yield Path(pure)
    parts = [part for part in pure.parts if part not in {"/", "."}]
    for length in range(min(_ENDS, len(parts)), 0, -1):
        for folder in folders:
            yield folder.joinpath(*parts[-length:])


def _imported(script: Script) -> Iterator[Path]:
    """Yield the files beside a script, or in packages there, that it imports."""
    for target in (*script.imports.values(), *script.stars):
        level = len(target) - len(target.lstrip("."))
        base = script.path.parent
        for _ in range(max(0, level - 1)):
            base = base.parent
        parts = [part for part in target.lstrip(".").split(".") if part.isidentifier()]
        for length in range(len(parts), 0, -1):
            module = base.joinpath(*parts[:length])
            candidate = module.with_suffix(".py")
            if _is_script(candidate):
                yield candidate
                break
            if _is_script(module / "__init__.py"):
                yield module / "__init__.py"
                break


def _is_script(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
