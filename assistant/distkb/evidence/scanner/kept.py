"""Files in the cache directory that are either whole or not there."""

from __future__ import annotations

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
    """Write the file so that no reader ever sees half of it; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(temporary, path)  # noqa: PTH105
    except OSError:
        return
