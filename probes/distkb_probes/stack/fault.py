"""Reads stacks as faulthandler writes them, into the rows that py-spy prints."""

from __future__ import annotations

import re
from typing import Any

_THREAD = re.compile(r"^(?:Current thread|Thread) (0x[0-9a-fA-F]+)(?: \[([^\]\n]*)\])? \(most recent call first\):$")
_FRAME = re.compile(r'^  File "([^"\n]*)", line (\d{1,9}|\?\?\?) in (.*)$')
_MOST_LINES = 100_000
_MOST_THREADS = 2000
_OWN = "distkb_probes/serve.py"


def threads_of(text: str) -> list[dict[str, Any]] | None:
    """Return the threads, the main one named; None where the text breaks off before the main thread.

    CPython writes the newest thread first and the main one last, and stops after a hundred.
    """
    found: list[dict[str, Any]] = []
    whole = False
    for line in text.splitlines()[:_MOST_LINES]:
        if (head := _THREAD.match(line)) is not None:
            found.append({"thread_id": int(head[1], 16), "thread_name": head[2] or "", "frames": []})
            whole = len(found) < _MOST_THREADS
        elif found and (frame := _FRAME.match(line)) is not None:
            number = int(frame[2]) if frame[2].isdecimal() else 0
            found[-1]["frames"].append({"name": frame[3], "filename": frame[1], "line": number})
        elif line == "...":
            whole = False
    found = [thread for thread in found if thread["frames"] and not _is_own(thread)]
    if not found or not whole:
        return None
    found[-1]["thread_name"] = "MainThread"
    return found


def _is_own(thread: dict[str, Any]) -> bool:
    """Whether a thread is the one that answers."""
    return any(frame["filename"].endswith(_OWN) for frame in thread["frames"])
