"""A thread in every rank that shows that it is alive, and tells the ranks of other nodes where it stands."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from distkb_probes.communication.marks import Marks

EVERY_S = 0.5


class Pulse:
    """Writes a beat twice a second. With a store it also exchanges positions with all ranks, every second beat."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._stop = threading.Event()
        self._store: Any = None
        self._reads = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def share(self, store: Any, *, reads: bool) -> None:
        """Begin to exchange positions; every rank's key is in the store already, so that reading never blocks."""
        self._reads = reads
        self._store = store

    def stop(self) -> None:
        """End the thread, so that nobody else uses the store."""
        self._stop.set()
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        turn = 0
        while not self._stop.wait(EVERY_S):
            self._marks.write("beat")
            turn += 1
            if self._store is not None and turn % 2 == 0:
                try:
                    self._exchange(self._store)
                except Exception:  # noqa: BLE001 - the store may end before this rank does
                    self._store = None

    def _exchange(self, store: Any) -> None:
        store.set(key(self._marks.who.rank), position(self._marks))
        if self._reads:
            ranks = [r for r in range(self._marks.who.world) if r != self._marks.who.rank]
            told = store.multi_get([key(rank) for rank in ranks])
            self._marks.write("peers", ranks={str(r): json.loads(text) for r, text in zip(ranks, told, strict=True)})


def key(rank: int) -> str:
    """Return where a rank's position is in the store."""
    return f"at/{rank}"


def position(marks: Marks, error: str = "") -> str:
    """Return where a rank stands, as JSON."""
    who = marks.who
    return json.dumps(
        {
            **marks.last,
            "host": who.host,
            "pid": who.pid,
            "local_rank": who.local_rank,
            "world": who.world,
            "beat": time.time(),
            "error": error,
        }
    )
