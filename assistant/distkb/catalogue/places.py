"""Where knowledge bases, caches and what is kept are on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

OVERLAYS_VARIABLE: Final = "DISTKB_KB"
"""Further knowledge bases, separated like PATH."""

_PACKAGE = Path(__file__).parents[1]


def checkout() -> Path | None:
    """Return the repository that the program runs from, or None in an installed copy."""
    repository = _PACKAGE.parents[1]
    return repository if (repository / "kb").is_dir() and _PACKAGE.parent.name == "assistant" else None


def builtin() -> Path:
    """Return the built-in knowledge base: the repository's `kb`, else the one inside the package."""
    repository = checkout()
    return repository / "kb" if repository else _PACKAGE / "_kb"


def knowledge_bases(overlays: Sequence[Path] = ()) -> list[Path]:
    """Return the built-in knowledge base, those that `DISTKB_KB` names and the given ones; each once, absolute."""
    named = [Path(name) for name in os.environ.get(OVERLAYS_VARIABLE, "").split(os.pathsep) if name]
    return list(dict.fromkeys(_absolute(path) for path in (builtin(), *named, *overlays)))


def cache_directory() -> Path:
    """Return the directory for what can be computed again. It need not exist, nor be writable."""
    if sys.platform in ("linux", "emscripten"):  # the same answer as platformdirs, without its import on every start
        base = os.environ.get("XDG_CACHE_HOME", "")
        return Path(base) / "distkb" if base.strip() else Path("~/.cache/distkb").expanduser()
    import platformdirs

    return platformdirs.user_cache_path("distkb", appauthor=False)


def state_directory() -> Path:
    """Return the directory for what a user may want again: sessions, what was kept of a job. It need not exist."""
    if sys.platform == "linux":
        base = os.environ.get("XDG_STATE_HOME", "")
        return Path(base) / "distkb" if base.strip() else Path("~/.local/state/distkb").expanduser()
    import platformdirs

    return platformdirs.user_state_path("distkb", appauthor=False)


def prepared(name: str) -> list[Path]:
    """Return where `pip install -e` leaves a file of that name for the first start of a checkout."""
    repository = checkout()
    return [repository / "build" / name] if repository else []


def code_directories() -> list[Path]:
    """Return the directories whose modules decide what is compiled; none in an installed copy, which never changes."""
    return [_PACKAGE / "catalogue", _PACKAGE / "search"] if checkout() else []


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - a symbolic link keeps its name in messages
