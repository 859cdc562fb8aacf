"""Finds the stacks that a rank's tracer has written into its file: what is left where nothing else answers."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

from distkb_probes.environment.processes import PROC
from distkb_probes.stack.fault import threads_of

_NAME = re.compile(r"^trace-(?:rank|pid)-\d+\.log$")
_QUIET = re.compile(
    r"^distkb-trace v\d{1,9} #\d{1,18} time=(\S{1,64}) [^\n]{0,400}?\bpid=(\d{1,12})[^\n]{0,400}? kind=(\w{1,40}) ",
    re.MULTILINE,
)
_TAIL = 1 << 20


def last_stacks(pid: int, own_number: int) -> tuple[list[dict[str, Any]] | None, float, str]:
    """Return the threads that a process's tracer wrote last, when it wrote them, and a code where there are none.

    `absent`: it has no tracer; `early`: its tracer has written no stack yet; `moved`: it has gone on since; `denied`.
    """
    try:
        path = _file(pid)
        if path is None:
            return None, 0.0, "absent"
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return None, 0.0, "denied"
    lines = [found for found in _QUIET.finditer(text) if int(found[2]) == own_number]
    quiet = [found for found in lines if found[3] == "quiet"]
    if not quiet:
        return None, 0.0, "early"
    if quiet[-1] is not lines[-1]:
        return None, 0.0, "moved"
    threads = threads_of(text[quiet[-1].end() :].partition("\n")[2])
    return threads, _moment(quiet[-1][1]), "" if threads is not None else "many-threads"


def _file(pid: int) -> Path | None:
    """Return the file that the tracer holds open. Raises OSError where it may not be looked for."""
    for held in (PROC / str(pid) / "fd").iterdir():
        with contextlib.suppress(OSError):
            if _NAME.match(held.readlink().name) and stat.S_ISREG(held.stat().st_mode):
                return held
    return None


def _moment(text: str) -> float:
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text).timestamp()
    return 0.0
