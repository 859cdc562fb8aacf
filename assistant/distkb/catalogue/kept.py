"""Files in the cache directory that are either whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_DIGEST = 32


def read_kept(path: Path) -> bytes | None:
    """Return what `keep` wrote; None where there is nothing or it is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, body = data[:_DIGEST], data[_DIGEST:]
    return body if hashlib.sha256(body).digest() == digest else None


def keep(path: Path, body: bytes) -> None:
    """Write the file with what tells whether it was damaged; a cache that cannot be written is no error."""
    replace(path, hashlib.sha256(body).digest() + body)


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
