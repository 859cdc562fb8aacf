"""Reads the user's own words about the problem, from a file or from stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from distkb.cli.diagnostics import note
from distkb.locale import Say

MOST_BYTES = 4 << 20
"""A description is read up to this size; longer output belongs into PATHS, where it is read as logs."""


def read_report(source: str, say: Say) -> str:
    """Return the text of a file, or of stdin for `-`; one that cannot be read is a note and counts as empty."""
    try:
        if source == "-":
            content = sys.stdin.buffer.read(MOST_BYTES)
        else:
            with Path(source).open("rb") as file:
                content = file.read(MOST_BYTES)
    except OSError as problem:
        reason = {
            FileNotFoundError: say("skip.missing"),
            PermissionError: say("skip.permission"),
        }.get(type(problem), say("skip.unreadable", detail=problem.strerror or type(problem).__name__))
        note(say("note.skipped", path=source, reason=reason), say)
        return ""
    if not content.strip():
        note(say("note.skipped", path=source, reason=say("skip.empty")), say)
    return content.decode("utf-8", errors="replace").removeprefix("\ufeff")
