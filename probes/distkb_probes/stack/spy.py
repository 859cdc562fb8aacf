"""Runs py-spy for many processes at once, within a deadline, without pausing them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_AT_ONCE = 8
_ONE_S = 15.0
_TRIES = 3
"""A process that runs on may change under py-spy's eyes, which then gives up: it is asked again."""
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Taken:
    """What py-spy said of one process: its threads, or why there are none."""

    threads: list[dict[str, Any]] | None
    error: str = ""


def find_tool(candidates: Sequence[str]) -> str | None:
    """Return the py-spy to use: one that was named, the one beside this Python, or the first on PATH."""
    for path in (*candidates, str(Path(sys.executable).parent / "py-spy")):
        if os.access(path, os.X_OK) and Path(path).is_file():
            return path
    return shutil.which("py-spy")


def dump_all(tool: str, pids: Sequence[int], deadline: float) -> dict[int, Taken]:
    """Return every process's threads; `deadline` is a moment of time.monotonic."""
    if not pids:
        return {}
    with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(pids))) as pool:
        return dict(zip(pids, pool.map(lambda pid: dump(tool, pid, deadline), pids), strict=True))


def dump(tool: str, pid: int, deadline: float) -> Taken:
    """Ask py-spy for one process. It reads the memory and does not pause: ending it leaves no process stopped."""
    error = ""
    for _ in range(_TRIES):
        left = min(_ONE_S, deadline - time.monotonic())
        if left <= 0:
            return Taken(None, error or "timeout")
        try:
            done = subprocess.run(  # noqa: S603 - the tool that the user has installed
                [tool, "dump", "--nonblocking", "--json", "--pid", str(pid)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=left,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Taken(None, "timeout")
        except OSError as problem:
            return Taken(None, problem.strerror or "error")
        threads = _threads(done.stdout)
        if threads is not None:
            return Taken(threads)
        error = _reason(done.stderr.decode("utf-8", "replace"))
        if is_refusal(error) or "No such" in error:
            break
    return Taken(None, error or "error")


def is_refusal(error: str) -> bool:
    """Whether py-spy was not allowed to look."""
    return "ermission" in error or "not permitted" in error


def _threads(output: bytes) -> list[dict[str, Any]] | None:
    try:
        threads = json.loads(output[:_MOST_BYTES])
    except (ValueError, RecursionError):
        return None
    good = isinstance(threads, list) and all(isinstance(thread, dict) for thread in threads)
    return threads if good else None


def _reason(text: str) -> str:
    """Return the cause that py-spy prints, without the way it took."""
    lines = [line.strip() for line in text.splitlines()[:40] if line.strip()]
    for line in lines:
        if "ermission" in line or "not permitted" in line:
            return "Permission denied"
    caused = next((line for line in lines if line.startswith("Error:")), lines[0] if lines else "")
    return caused.removeprefix("Error:").strip()[:200]
