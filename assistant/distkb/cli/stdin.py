"""What a pipe gives, as a file that is read like any other."""

from __future__ import annotations

import io
import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

DASH = Path("-")
NAMED = Path("/dev/stdin")
"""The name under which what came through the pipe is read and quoted."""
SILENCE_S = 2.0
"""Seconds that a pipe may stay silent where nobody asked for it to be read; `-` waits for as long as it takes."""


def with_stdin(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths with `-` replaced by the file that holds all of stdin."""
    if DASH not in paths:
        return tuple(paths)
    held = _held()
    return tuple(dict.fromkeys(held if path == DASH else path for path in paths))


def _held() -> Path:
    """Write all of stdin to a file without a name and put it in the place of stdin, where it can be read again."""
    with tempfile.TemporaryFile(prefix="distkb-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        file.seek(0)
        os.dup2(file.fileno(), 0)
    return NAMED


def is_given() -> bool:
    """Whether something is piped or redirected into the program: a file, or a pipe that does not stay silent."""
    try:
        mode = os.fstat(0).st_mode
        if stat.S_ISREG(mode):
            return os.fstat(0).st_size > 0
        if not stat.S_ISFIFO(mode):
            return False
        readable, _, _ = select.select([0], [], [], SILENCE_S)
        buffer = sys.stdin.buffer
        return bool(readable) and isinstance(buffer, io.BufferedReader) and bool(buffer.peek(1))
    except (OSError, ValueError, AttributeError):
        return False
