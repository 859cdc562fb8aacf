"""Reads a model's `config.json` from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distkb.sizing.shape import ShapeError

_LARGEST = 1 << 20


def load(path: Path) -> dict[str, Any]:
    """Return the document. Raises ShapeError where the file is too large, or no JSON object; OSError as `open` does."""
    import msgspec

    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ShapeError("advise.error.config-size", path=str(path))
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise ShapeError("advise.error.config", path=str(path), reason=str(problem)) from None
