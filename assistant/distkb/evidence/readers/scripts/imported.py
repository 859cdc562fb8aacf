"""Finds the modules of a project that its scripts import, where they lie beside them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.source import Script, load_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_FILES = 60
"""Scripts read because others name them."""
_UP = 4
"""Folders above a script in which the project's own is looked for."""
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
"""Of which one lies in the folder of a project, from which programs are run."""


def with_imported(scripts: Iterable[Script]) -> list[Script]:
    """Return the scripts, and behind them the modules of their project that they and those import.

    What cannot be read or parsed is left out: nobody named it.
    """
    found = {script.path: script for script in scripts}
    most = len(found) + MOST_FILES
    waiting = list(found.values())
    while waiting and len(found) < most:
        for path in _imported(waiting.pop()):
            loaded = load_script(path) if path not in found and len(found) < most else None
            if isinstance(loaded, Script):
                found[path] = loaded
                waiting.append(loaded)
    return list(found.values())


def _imported(script: Script) -> Iterator[Path]:
    """Yield the files of the project that a script imports."""
    whole = [name.name for node in script.nodes if isinstance(node, ast.Import) for name in node.names]
    for target in dict.fromkeys((*script.imports.values(), *whole, *script.stars)):
        level = len(target) - len(target.lstrip("."))
        parts = [part for part in target.lstrip(".").split(".") if part.isidentifier()]
        for base in _above(script.path.parent, level - 1) if level else _roots(script.path.parent):
            module = _module(base, parts)
            if module is not None:
                yield module
                break


def _above(folder: Path, levels: int) -> list[Path]:
    for _ in range(levels):
        folder = folder.parent
    return [folder]


def _roots(folder: Path) -> Iterator[Path]:
    """Yield the folders from which a script of this folder may import: its own, and the one of its project."""
    yield folder
    package = folder
    while is_file(package / "__init__.py") and package != package.parent:
        package = package.parent
        yield package
    above = list(folder.parents)[:_UP]
    yield from [one for one in above if any(_exists(one / mark) for mark in _MARKS)][:1]


def _module(base: Path, parts: list[str]) -> Path | None:
    """Return the file of the longest beginning of a dotted name that is a module below a folder."""
    for length in range(len(parts), 0, -1):
        module = base.joinpath(*parts[:length])
        for candidate in (module.with_suffix(".py"), module / "__init__.py"):
            if is_file(candidate):
                return candidate
    return None


def is_file(path: Path) -> bool:
    """Whether a regular file lies there; nobody may be hindered from asking."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    """Whether anything lies there; nobody may be hindered from asking."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
