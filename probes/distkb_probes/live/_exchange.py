"""Lets the ranks of a job compare notes through the job's store, without a collective.

Every rank puts down a short summary. The first rank of the group, or whoever loses patience first, leads: it asks
single ranks for details, judges, and puts down one verdict that all of them read. A rank costs a handful of store
requests, the leader one per rank. Nothing blocks: keys are looked for, never waited for, so the store's connection,
which NCCL's watchdog shares, is never held. A rank that does not come is named in the verdict; if it comes later, it
is told so.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ROOT = "distkb/live/1"
_PIECE = 1 << 20
"""Bytes of one value; TCPStore refuses values above 8 MiB."""
_PATIENCE = 0.8
"""Part of the time after which the missing are given up; the rest is for details and the verdict."""
_rounds: dict[str, int] = {}
_was_late: set[str] = set()
_lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Sheet:
    """What one rank knows: a short summary for the leader, details that it may ask for, both JSON."""

    summary: Any
    detail: Any = None


@dataclasses.dataclass(frozen=True)
class Judge:
    """The leader's part: which ranks' details it wants, and what follows from summaries and details."""

    wants: Callable[[dict[int, Any]], list[int]]
    verdict: Callable[[dict[int, Any], dict[int, Any]], Any]


@dataclasses.dataclass(frozen=True)
class Met:
    """How a meeting ended for this rank."""

    verdict: Any
    """The leader's, None where there is none."""
    missing: tuple[int, ...]
    late: bool
    leader: int | None
    last_seen: Mapping[str, str]
    """Of each missing rank that ever called a check: which one, and where."""


class Meeting:
    """One round of one check among some ranks. Every rank of `ranks` is expected to come to the same round."""

    def __init__(self, store: Any, name: str, rank: int, ranks: Sequence[int], timeout: float) -> None:
        self.store, self.rank, self.ranks = store, rank, list(ranks)
        self.series = f"{ROOT}/{zlib.crc32(json.dumps(self.ranks).encode()):08x}/{name}"
        self.who = f"{rank} {self.series}"
        self.began = time.monotonic()
        self.timeout = timeout
        self.base = ""

    def hold(self, sheet: Sheet, judge: Judge, where: str) -> Met:
        """Put down this rank's sheet and return the verdict, at the latest when the time is over."""
        self.store.set(f"{ROOT}/at/{self.rank}", where)
        if not self._enter():
            return self._read(self._look("next"))
        self._put(f"in/{self.rank}", sheet.summary)
        came = int(self.store.add(self._key("came"), 1))
        first = self.rank == self.ranks[0]
        patience = self.began + self.timeout * _PATIENCE
        for _ in self._polls():
            if (said := self._look("next")) is not None:
                return self._answer(said, sheet)
            if first and came < len(self.ranks):
                came = int(self.store.add(self._key("came"), 0))
            complete = first and came >= len(self.ranks)
            if (complete or time.monotonic() > patience) and int(self.store.add(self._key("lead"), 1)) == 1:
                return self._lead(sheet, judge)
        leader = self._look("leader")
        return Met(None, () if leader is None else (leader,), late=False, leader=leader, last_seen={})

    def _enter(self) -> bool:
        """Choose the round. False where the others have ended it without this rank.

        A rank is told once that it came late; if the next round is over as well, its count is behind (a check was
        called by some ranks only), and it goes on to the first round that is still open.
        """
        with _lock:
            number = _rounds.get(self.who, 0) + 1
            while self.store.check([f"{self.series}/{number}/next"]):
                if self.who not in _was_late:
                    _was_late.add(self.who)
                    self._use(number)
                    return False
                number += 1
            _was_late.discard(self.who)
            self._use(number)
            return True

    def _use(self, number: int) -> None:
        _rounds[self.who] = number
        self.base = f"{self.series}/{number}"

    def _answer(self, said: dict[str, Any], sheet: Sheet) -> Met:
        """Hand in details if the leader asks for them, then wait for its verdict."""
        if self.rank in said["want"]:
            self._put(f"detail/{self.rank}", sheet.detail)
        return self._read(said)

    def _read(self, said: dict[str, Any] | None) -> Met:
        said = said or {"present": [], "missing": [], "leader": None, "want": [], "last_seen": {}}
        final = said.get("final")
        if "final" not in said:
            for _ in self._polls():
                if (final := self._look("final")) is not None:
                    break
        self._leave()
        late = self.rank not in said["present"]
        missing = () if late else tuple(said["missing"])
        if final is None and not late:
            missing = (*missing, said["leader"])
        return Met(final, missing, late=late, leader=said["leader"], last_seen=said["last_seen"])

    def _lead(self, sheet: Sheet, judge: Judge) -> Met:
        self._put("leader", self.rank)
        summaries = self._summaries()
        missing = tuple(rank for rank in self.ranks if rank not in summaries)
        want = [rank for rank in judge.wants(summaries) if rank in summaries]
        said = {"present": list(summaries), "missing": missing, "leader": self.rank, "want": want}
        said["last_seen"] = seen = self._last_seen(missing)
        if want:
            self._put("next", said)
        details = self._details(want, sheet)
        final = judge.verdict(summaries, details)
        self._put("final" if want else "next", final if want else {**said, "final": final})
        self._leave()
        return Met(final, missing, late=False, leader=self.rank, last_seen=seen)

    def _summaries(self) -> dict[int, Any]:
        """Read the summaries of those who are here: in two requests where that is everybody."""
        keys = [self._key(f"in/{rank}") for rank in self.ranks]
        if self.store.check(keys):
            values = self.store.multi_get(keys)
            return {rank: self._decoded(*item) for rank, *item in zip(self.ranks, keys, values, strict=True)}
        found = {rank: self._look(f"in/{rank}") for rank in self.ranks}
        return {rank: summary for rank, summary in found.items() if summary is not None}

    def _details(self, want: Sequence[int], sheet: Sheet) -> dict[int, Any]:
        got = {rank: sheet.detail for rank in want if rank == self.rank}
        limit = time.monotonic() + self.timeout * (1 - _PATIENCE) / 2
        for _ in self._polls():
            for rank in want:
                if rank not in got and (detail := self._look(f"detail/{rank}")) is not None:
                    got[rank] = detail
            if len(got) == len(want) or time.monotonic() > limit:
                break
        return got

    def _last_seen(self, missing: Sequence[int]) -> dict[str, str]:
        seen = {}
        for rank in missing[:16]:
            key = f"{ROOT}/at/{rank}"
            if self.store.check([key]):
                seen[str(rank)] = self.store.get(key).decode(errors="replace")
        return seen

    def _leave(self) -> None:
        """Take this rank's notes away; the last one to leave takes the round's. Some stores cannot delete."""
        try:
            self._delete(f"in/{self.rank}", f"detail/{self.rank}")
            if int(self.store.add(self._key("read"), 1)) == len(self.ranks):
                self._delete("came", "lead", "leader", "next", "final", "read")
        except (RuntimeError, NotImplementedError):
            return

    def _delete(self, *names: str) -> None:
        for name in names:
            key = self._key(name)
            if not self.store.check([key]):
                continue
            pieces = self.store.get(key)
            if pieces.startswith(b"#"):
                for index in range(int(pieces[1:])):
                    self.store.delete_key(f"{key}/{index}")
            self.store.delete_key(key)

    def _polls(self) -> Any:
        """Yield until the time is over, slower and slower, and slower the more ranks ask the one store."""
        pause, longest = 0.001, min(0.5, 0.02 + 0.0005 * len(self.ranks))
        while True:
            yield
            if time.monotonic() > self.began + self.timeout:
                return
            time.sleep(pause)
            pause = min(longest, pause * 1.5)

    def _key(self, name: str) -> str:
        return f"{self.base}/{name}"

    def _put(self, name: str, value: Any) -> None:
        """Write a value; a long one in pieces, its number of pieces last."""
        data = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)
        if len(data) <= _PIECE:
            self.store.set(self._key(name), data)
            return
        pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
        for index, piece in enumerate(pieces):
            self.store.set(f"{self._key(name)}/{index}", piece)
        self.store.set(self._key(name), f"#{len(pieces)}")

    def _look(self, name: str) -> Any:
        """Return a value, None where it is not there."""
        key = self._key(name)
        if not self.store.check([key]):
            return None
        return self._decoded(key, self.store.get(key))

    def _decoded(self, key: str, data: bytes) -> Any:
        """Unpack a value, with its pieces where it is in pieces."""
        if data.startswith(b"#"):
            data = b"".join(self.store.get(f"{key}/{index}") for index in range(int(data[1:])))
        return json.loads(zlib.decompress(data))
