"""What was given and could not be read, in one sentence each."""

from __future__ import annotations

from distkb.evidence.observation import Skipped
from distkb.locale import Say


def sentence(item: Skipped, say: Say) -> str:
    """Return what was skipped and why; a code that has no sentence of its own is told as it is."""
    key = f"skip.{item.code}" if say.knows(f"skip.{item.code}") else "skip.unreadable"
    return say("note.skipped", path=item.path, reason=say(key, detail=item.detail or item.code))
