"""The one place where a reader may fail: its failure is a note, and whatever else was given is still read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from distkb.evidence.observation import Skipped
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.opening import UnreadableError, reason

Item = TypeVar("Item")
Answer = TypeVar("Answer")
_WIDTH = 120


def guarded(read: Callable[[], Answer], name: str, skipped: list[Skipped]) -> Answer | None:
    """Return what a reader says; None where it raises anything, which becomes one note about `name`."""
    try:
        return read()
    except Exception as problem:
        if os.environ.get("DISTKB_TRACEBACK"):
            raise
        said = quote_text(f"{type(problem).__name__}: {problem}", width=_WIDTH)
        skipped.append(Skipped(path=name, code="failed", detail=said))
        return None


def unread(name: str, error: UnreadableError | OSError | ValueError) -> Skipped:
    """Return the note that a file could not be opened or read."""
    code, detail = (error.code, error.detail) if isinstance(error, UnreadableError) else reason(error)
    return Skipped(path=name, code=code, detail=detail)


def guarded_together(
    read: Callable[[Sequence[Item]], Answer],
    items: Sequence[Item],
    name: Callable[[Item], str],
    skipped: list[Skipped],
) -> Answer | None:
    """Return what a reader of several things says; those with which it fails are left out, each with a note.

    Where it fails with all of them and with none of them alone, there is one note for all of it.
    """
    notes: list[Skipped] = []
    whole = guarded(lambda: read(items), ", ".join(dict.fromkeys(map(name, items[:3]))), notes)
    if not notes:
        return whole
    alone: list[Skipped] = []
    sound = [item for item in items if _reads(read, item, name(item), alone)]
    if not alone:
        skipped += notes
        return None
    skipped += alone
    return guarded_together(read, sound, name, skipped) if sound else None


def _reads(read: Callable[[Sequence[Item]], object], item: Item, name: str, notes: list[Skipped]) -> bool:
    before = len(notes)
    guarded(lambda: read([item]), name, notes)
    return len(notes) == before
