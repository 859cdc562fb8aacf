"""Logs that were pasted: kept in files of their own, so that they are read, quoted and opened like any other."""

from __future__ import annotations

import contextlib
import datetime
import secrets
from pathlib import Path

from distkb.catalogue import places
from distkb.evidence.text.clean import mask_lines, strip_escapes

LINES, CHARACTERS = 25, 4000
"""What is longer than this is a log; shorter texts are a person's description."""
KEPT = 20
"""So many of the latest pastes are kept."""


def is_log(text: str) -> bool:
    """Whether a pasted text is a log rather than a description."""
    return len(text) > CHARACTERS or text.count("\n") + text.count("\r") >= LINES


def keep(text: str, directory: Path | None = None) -> Path:
    """Write a pasted text to a file that only its owner may read, without its secrets; raises OSError."""
    folder = directory or places.state_directory() / "pasted"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in sorted(folder.glob("*.log"))[: -KEPT + 1]:
        with contextlib.suppress(OSError):
            old.unlink()
    path = folder / f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}.log"  # noqa: DTZ005 - a name
    path.touch(mode=0o600)
    lines = strip_escapes(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    path.write_text("\n".join(mask_lines(lines)), encoding="utf-8", errors="replace")
    return path
