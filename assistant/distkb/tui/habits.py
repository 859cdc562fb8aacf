"""What the screen remembers from one start to the next: theme, language, and how wide the causes are."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import msgspec

from distkb.catalogue import places


class Habits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Empty and 0 where nothing was chosen."""

    theme: str = ""
    lang: str = ""
    causes_width: int = 0
    """Share of the screen that the causes take, in percent."""


def _path() -> Path:
    return places.state_directory() / "screen.json"


def load() -> Habits:
    """Return what was remembered; what cannot be read counts as nothing."""
    try:
        return msgspec.json.decode(_path().read_bytes(), type=Habits)
    except (OSError, msgspec.DecodeError):
        return Habits()


def save(habits: Habits) -> None:
    """Remember it; where that is not possible the next start begins as ever."""
    path = _path()
    beside = path.with_name(f".{path.name}.{secrets.token_hex(3)}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_bytes(msgspec.json.encode(habits))
        os.replace(beside, path)  # noqa: PTH105 - atomic
