"""Finds the modules of a project that its scripts import, where they lie beside them."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.source import Script, load_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_FILES = 60
"""Scripts read because others name them."""
_UP = 4
"""Folders above a script in which the project's own is looked for."""
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
"""Of which one lies in the folder of a project, from which programs are run."""


def with_imported(scripts: Iterable[Script]) -> list[Script]:
    """Return the scripts, and behind them the modules of their project that they and those import.

    What cannot be read or parsed is left out: nobody named it.
    """
    found = {real(script.path): script for script in scripts}
    most = len(found) + _MOST_FILES
    waiting = list(found.values())
    while waiting and len(found) < most:
        for path in _imported(waiting.pop()):
            loaded = load_script(path) if real(path) not in found and len(found) < most else None
            if isinstance(loaded, Script):
                found[real(path)] = loaded
                waiting.append(loaded)
    return list(found.values())


def real(path: Path) -> str:
    """Return what names a file whichever way it was reached."""
    return os.path.realpath(path)


def _imported(script: Script) -> Iterator[Path]:
    """Yield the files of the project that a script imports."""
    whole = [name.name for node in script.nodes if isinstance(node, ast.Import) for name in node.names]
    for target in dict.fromkeys((*script.imports.values(), *whole, *script.stars)):
        level = len(target) - len(target.lstrip("."))
        parts = [part for part in target.lstrip(".").split(".") if part.isidentifier()]
        for base in _above(script.path.parent, level - 1) if level else roots(script.path.parent):
            module = _module(base, parts)
            if module is not None:
                yield module
                break


def _above(folder: Path, levels: int) -> list[Path]:
    for _ in range(levels):
        folder = folder.parent
    return [folder]


def roots(folder: Path) -> Iterator[Path]:
    """Yield the folders from which a script of this folder may import: its own, and the one of its project."""
    yield folder
    package = folder
    while is_file(package / "__init__.py") and package != package.parent:
        package = package.parent
        yield package
    above = Path(os.path.abspath(folder)).parents[:_UP]  # noqa: PTH100 - links stay as the user named them
    project = next((one for one in above if any(os.path.exists(one / mark) for mark in _MARKS)), None)  # noqa: PTH110
    if project is not None:
        yield project if folder.is_absolute() else Path(os.path.relpath(project))


def _module(base: Path, parts: list[str]) -> Path | None:
    """Return the file of the longest beginning of a dotted name that is a module below a folder."""
    for length in range(len(parts), 0, -1):
        module = base.joinpath(*parts[:length])
        for candidate in (module.with_suffix(".py"), module / "__init__.py"):
            if is_file(candidate):
                return candidate
    return None


def is_file(path: Path) -> bool:
    """Whether a file lies there, as far as one may know."""
    return os.path.isfile(path)  # noqa: PTH113 - asks without an error
