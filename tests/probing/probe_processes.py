"""Finds the processes that a test has started, wherever they have gone."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

MARK = "DISTKB_TEST_MARK"


def new_mark() -> str:
    """Return a value for the environment variable `MARK` that no other process has."""
    return uuid.uuid4().hex


def marked(mark: str) -> dict[int, str]:
    """Return pid → command line of every living process with the mark in its environment, our own left out."""
    wanted = f"{MARK}={mark}".encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if command:  # a zombie has none
                    found[int(entry.name)] = command
        except OSError:
            continue
    return found


def wait_until_gone(mark: str, seconds: float = 15.0) -> dict[int, str]:
    """Wait until no process has the mark; returns those that are left when the time is up."""
    until = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return left
