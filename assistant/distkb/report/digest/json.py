"""The digest for programs: the document `distkb.digest/1`."""

from __future__ import annotations

from typing import Any

import msgspec

from distkb.report.digest.model import Digest
from distkb.report.json import encode

SCHEMA = "distkb.digest/1"


def write(digest: Digest) -> str:
    """Return a digest as one JSON document."""
    return encode(document(digest))


def document(digest: Digest) -> dict[str, Any]:
    """Return a digest as plain data."""
    return {"schema": SCHEMA, **msgspec.to_builtins(digest)}
