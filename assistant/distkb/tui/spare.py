"""A reading process that is made ready before it is needed, so that nobody waits for its start."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from distkb.intake_process import ReadingProcess


class Spare:
    """Holds at most one such process; every method may be called from any thread."""

    def __init__(self, overlays: Sequence[Path]) -> None:
        """Take the overlays that it reads with."""
        self._overlays = tuple(overlays)
        self._waiting: ReadingProcess | None = None
        self._ended = False
        self._lock = Lock()

    def make(self) -> None:
        """Start one, if none waits."""
        with self._lock:
            if self._waiting is None and not self._ended:
                self._waiting = self._new()

    def take(self) -> ReadingProcess:
        """Return the one that waits, or a new one."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        return waiting if waiting is not None and waiting.is_alive else self._new()

    def _new(self) -> ReadingProcess:
        from distkb.intake_process import ReadingProcess

        return ReadingProcess(overlays=self._overlays)

    def end(self) -> None:
        """Leave no process behind, and start no other."""
        with self._lock:
            waiting, self._waiting, self._ended = self._waiting, None, True
        if waiting is not None:
            waiting.end()
