"""Files in the cache directory that are either whole or not there, and go when no version of distkb uses them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path

_DIGEST = 32
_DAY = 86400
UNUSED = 30 * _DAY
"""Seconds after which what nobody has read is removed."""
_NAME = re.compile(r"[a-z]+-[0-9a-f]{24}\.\w{2,8}")
"""Kept files are named by their kind and by what they were made of."""


def read_kept(path: Path) -> bytes | None:
    """Return what `keep` wrote; None where there is nothing or it is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)  # it is still in use
    digest, body = data[:_DIGEST], data[_DIGEST:]
    return body if hashlib.sha256(body).digest() == digest else None


def keep(path: Path, body: bytes) -> None:
    """Write the file with what tells whether it was damaged; a cache that cannot be written is no error."""
    replace(path, hashlib.sha256(body).digest() + body)
    _tidy(path.parent)


def _tidy(directory: Path) -> None:
    """Remove what other versions kept there and nobody has read for long."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            if _NAME.fullmatch(entry.name) and time.time() - entry.stat(follow_symlinks=False).st_mtime > UNUSED:
                Path(entry.path).unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Put the file in place in one step, so that no reader ever sees half of it; where nothing can be written, not."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)  # noqa: PTH105 - both names are plain strings
        except BaseException:
            os.unlink(temporary)  # noqa: PTH108
            raise
