"""Reads the user's own words about the problem, from a file or from stdin."""

from __future__ import annotations

import os
import stat
import sys
import time

from distkb.cli.diagnostics import note
from distkb.locale import Say

MOST_BYTES = 4 << 20
"""A description is read up to this size; longer output belongs into PATHS, where it is read as logs."""
SILENCE_S = 3.0
"""Seconds that a named pipe may stay silent; `-` waits as long as whoever writes to it."""
LONGEST_S = 20.0
"""Seconds that a named pipe may take for all of it, however often a little comes."""


class _Unread(Exception):  # noqa: N818 - an outcome
    """The report cannot be read: key of a sentence, and what fills it."""


def read_report(source: str, say: Say) -> str:
    """Return the text of a file, or of stdin for `-`; one that cannot be read is a note and counts as empty."""
    try:
        content = sys.stdin.buffer.read(MOST_BYTES) if source == "-" else _content(source)
        text, reason = _text(content), ""
        if content.count(b"\0") > len(content) // 2 + 1:
            reason = say("skip.holes")
    except _Unread as unread:
        key, detail = unread.args
        text, reason = "", say(key, detail=detail)
    except OSError as problem:
        text = ""
        reason = {
            FileNotFoundError: say("skip.missing"),
            PermissionError: say("skip.permission"),
        }.get(type(problem), say("skip.unreadable", detail=problem.strerror or type(problem).__name__))
    if reason:
        note(say("note.skipped", path=source, reason=reason), say)
    return text


def _content(source: str) -> bytes:
    """Return the beginning of a file or of a pipe; nothing else is opened, and nothing is waited for without end."""
    descriptor = os.open(source, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, os.strerror(21), source)
        if stat.S_ISREG(mode):
            return file.read(MOST_BYTES)
        if not stat.S_ISFIFO(mode):
            raise _Unread("skip.not-a-file", "")
        return _from_pipe(descriptor)


def _from_pipe(descriptor: int) -> bytes:
    """Return what is written to a pipe until its writers go, fall silent or take too long."""
    import select

    parts: list[bytes] = []
    size, until = 0, time.monotonic() + LONGEST_S
    while size < MOST_BYTES:
        readable, _, _ = select.select([descriptor], [], [], max(0.0, min(SILENCE_S, until - time.monotonic())))
        try:
            part = os.read(descriptor, 1 << 16) if readable else b""
        except BlockingIOError:
            part = b""
        if not part:
            break
        parts.append(part)
        size += len(part)
    if not parts:
        raise _Unread("skip.silent", f"{SILENCE_S:g}")
    return b"".join(parts)[:MOST_BYTES]


def _text(content: bytes) -> str:
    from distkb.evidence.text.opening import SNIFF, is_binary

    if not content.replace(b"\0", b"").strip():
        raise _Unread("skip.empty", "")
    if is_binary(content[:SNIFF]):
        raise _Unread("skip.binary", "")
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return content.decode(encoding, errors="replace").removeprefix("\ufeff").replace("\0", "")
