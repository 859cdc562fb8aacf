"""Adds the line of code to the user's frames."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from distkb_probes.environment.variables import mask_text

_MOST_BYTES = 4 << 20
_LONGEST = 200
_TOKEN = re.compile(r"(['\"])[A-Za-z0-9+=_-]{32,}\1")
"""A string in the code that is a key rather than a word."""
_MOST_FRAMES = 40
"""Frames of one thread that get their line."""


def with_sources(threads: list[dict[str, Any]], pid: int, known: dict[tuple[str, int], str]) -> list[dict[str, Any]]:
    """Return the threads with `source` in the frames of files that are not Python's or a package's."""
    for thread in threads:
        for frame in (thread.get("frames") or [])[:_MOST_FRAMES]:
            path, line = frame.get("filename"), frame.get("line")
            if isinstance(path, str) and isinstance(line, int) and _is_users(path):
                if (path, line) not in known:
                    known[path, line] = _line(path, line, pid)
                if known[path, line]:
                    frame["source"] = known[path, line]
    return threads


def _is_users(path: str) -> bool:
    return path.startswith("/") and path.endswith(".py") and "/lib/python" not in path and "-packages/" not in path


def _line(path: str, line: int, pid: int) -> str:
    """Return one line of a file as the process sees it, which may be in a container."""
    for place in (Path(f"/proc/{pid}/root") / path.lstrip("/"), Path(path)):
        with contextlib.suppress(OSError):
            if place.is_file() and place.stat().st_size <= _MOST_BYTES:
                lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
                return _masked(lines[line - 1].strip()) if 0 < line <= len(lines) else ""
    return ""


def _masked(code: str) -> str:
    return mask_text(_TOKEN.sub(r"\1***\1", code[: 4 * _LONGEST]))[:_LONGEST]
