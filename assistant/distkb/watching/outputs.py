"""The files that a job writes: which they are, whether they grow, and how far the counters in them are."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from distkb.evidence.run.steps import last_progress
from distkb.evidence.text.clean import without_ours

_PROC = "/proc"
_MOST_FILES = 64
_MOST_READ = 64 << 10
"""Bytes at the end of what a file grew by that are looked through for counters."""
_LINE_END = re.compile(rb"[\r\n]+")
_MOST_LINES = 40
_WRITES = os.O_WRONLY | os.O_RDWR


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What came since the last look."""

    step: float | None = None
    """When a counter went on (time.time), as the file's time says."""
    grew: float | None = None
    """When something else was written."""
    line: str = ""
    """The line with the counter."""


class Outputs:
    """Follows files; each look costs one stat of each, and a read where it grew."""

    def __init__(self) -> None:
        self._sizes: dict[Path, int] = {}
        self._counters: dict[tuple[Path, str], tuple[int | None, int]] = {}
        self._binary: set[Path] = set()
        self.last_line = ""

    @property
    def files(self) -> list[Path]:
        """The files that are followed."""
        return list(self._sizes)

    @property
    def readable(self) -> bool:
        """Whether any of them can be seen from here."""
        return any(_size(path) is not None for path in self._sizes)

    @property
    def logs(self) -> list[Path]:
        """Those of them that hold text."""
        return [path for path in self._sizes if path not in self._binary]

    def follow(self, paths: Iterable[Path], *, whole: bool = False) -> None:
        """Follow these files too, from their end on; with `whole`, from their beginning."""
        for path in paths:
            if path not in self._sizes and len(self._sizes) < _MOST_FILES:
                self._sizes[path] = 0 if whole else _size(path) or 0

    def look(self) -> News:
        """Return what came since the last look."""
        step: float | None = None
        grew: float | None = None
        said = ""
        for path, known in self._sizes.items():
            try:
                now = os.stat(path)  # noqa: PTH116 - every second
            except OSError:
                continue
            if now.st_size == known:
                continue
            self._sizes[path] = now.st_size
            line = "" if path in self._binary else self._advanced(path, known if now.st_size > known else 0)
            if line is None:
                continue
            if line:
                step, said = max(step or 0.0, now.st_mtime), line
            else:
                grew = max(grew or 0.0, now.st_mtime)
        self.last_line = said or self.last_line
        return News(step=step, grew=grew, line=said)

    def _advanced(self, path: Path, since: int) -> str | None:
        """Return the last line that counts on; empty where none of the new ones does, None where all are distkb's."""
        size = self._sizes[path]
        try:
            with path.open("rb") as file:
                file.seek(max(since, size - _MOST_READ))
                data = file.read(_MOST_READ)
        except OSError:
            return ""
        if b"\0" in data:
            self._binary.add(path)
            return ""
        data, before = without_ours(data), data
        if data != before and not data.strip():
            return None
        lines = [line.decode("utf-8", "replace")[:600] for line in _LINE_END.split(data)[-_MOST_LINES:] if line.strip()]
        found = ""
        for name, progress in last_progress(lines, bare=True).items():
            at = (progress.epoch, progress.step)
            if self._counters.get((path, name)) != at:
                self._counters[path, name] = at
                found = lines[progress.index] if progress.index < len(lines) else lines[-1]
        return found


def written_by(pids: Iterable[int]) -> list[Path]:
    """Return the regular files that processes have open for writing, also through `| tee FILE`, logs of tasks first."""
    found: dict[Path, None] = {}
    pipes: set[str] = set()
    for pid in pids:
        _open_files(pid, found, pipes)
    if pipes:
        for reader in _readers(pipes):
            _open_files(reader, found, set())
    return list(found)


def _open_files(pid: int, found: dict[Path, None], pipes: set[str]) -> None:
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(f"{_PROC}/{pid}/fd"), key=len):  # noqa: PTH208 - names only
            with contextlib.suppress(OSError, ValueError):
                target = os.readlink(f"{_PROC}/{pid}/fd/{name}")  # noqa: PTH115
                if target.startswith("pipe:") and name in ("1", "2"):
                    pipes.add(target)
                elif target.startswith("/") and not target.startswith(("/dev/", "/proc/", "/sys/")):
                    path = Path(target)
                    if path not in found and _for_writing(pid, name) and stat.S_ISREG(path.stat().st_mode):
                        found[path] = None


def _for_writing(pid: int, name: str) -> bool:
    with open(f"{_PROC}/{pid}/fdinfo/{name}", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"flags:"):
                return bool(int(line[6:], 8) & _WRITES)
    return False


def _readers(pipes: set[str]) -> list[int]:
    """Return the other processes of this user that read from pipes, such as `tee`."""
    found: list[int] = []
    own, user = os.getpid(), os.getuid()
    for name in os.listdir(_PROC):  # noqa: PTH208 - names only
        if not name.isdigit() or int(name) == own:
            continue
        with contextlib.suppress(OSError):
            folder = f"{_PROC}/{name}"
            if os.stat(folder).st_uid == user and os.readlink(f"{folder}/fd/0") in pipes:  # noqa: PTH115, PTH116
                found.append(int(name))
    return found


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
