"""Progress marks of the smoke test: each rank appends to a file of its own, the supervisor reads them all."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAGES = (
    "launch",
    "store",
    "rendezvous",
    "communicator",
    "first-collective",
    "correctness",
    "bandwidth",
    "done",
)
"""In the order in which every rank passes them; a mark says which one a rank has entered."""


@dataclass(frozen=True)
class Who:
    """Which process a mark is of."""

    rank: int
    local_rank: int
    world: int
    host: str
    pid: int


@dataclass
class Seen:
    """What is known of one rank: where it is, and what it said about itself."""

    rank: int
    host: str = ""
    pid: int = 0
    local_rank: int = 0
    world: int = 0
    stage: str = "launch"
    call: str = ""
    """The collective that it entered last; empty before the first one."""
    number: int = 0
    """How many collectives it has entered: the same number means the same call on every rank."""
    beat: float = 0.0
    """Its last sign of life, by its own clock."""
    alive_at: float = 0.0
    """When that was heard of, by the supervisor's monotonic clock."""
    local: bool = True
    error: str = ""
    trace: tuple[str, ...] = ()
    failed_at: float = 0.0
    absent: tuple[int, ...] = ()
    """Ranks that had not come to the roll call when this rank last looked."""
    wrong: list[dict[str, Any]] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)
    """What it reported by name: facts, results."""

    @property
    def position(self) -> tuple[int, int]:
        """Return how far it came: the stage, then the number of the collective."""
        return STAGES.index(self.stage), self.number

    @property
    def done(self) -> bool:
        """Whether it has finished everything."""
        return self.stage == "done"


class Marks:
    """Writes the marks of one rank; may be used from several threads."""

    def __init__(self, directory: Path, who: Who) -> None:
        self.who = who
        self.last: dict[str, Any] = {"stage": "launch", "call": "", "number": 0}
        self._file = (directory / f"rank-{who.rank}.jsonl").open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self.write("who", local_rank=who.local_rank, world=who.world, host=who.host, pid=who.pid)

    def write(self, kind: str, **values: Any) -> None:
        """Append one mark; it is complete in the file when this returns."""
        line = json.dumps({"kind": kind, "time": time.time(), **values}, default=str)
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()

    def stage(self, name: str) -> None:
        """Say that this rank has entered a stage."""
        self.last = {**self.last, "stage": name, "call": ""}
        self.write("stage", stage=name)

    def call(self, name: str) -> None:
        """Say that this rank is about to enter a collective."""
        self.last = {**self.last, "call": name, "number": self.last["number"] + 1}
        self.write("call", call=name, number=self.last["number"])


def this_rank(environ: Mapping[str, str]) -> Who:
    """Return who this process is by the launcher's variables. Raises KeyError or ValueError where one is missing."""
    rank = int(environ["RANK"])
    return Who(
        rank=rank,
        local_rank=int(environ.get("LOCAL_RANK") or 0),
        world=int(environ["WORLD_SIZE"]),
        host=socket.gethostname(),
        pid=os.getpid(),
    )


class Board:
    """All ranks as far as their marks tell; reads only what was appended since the last look."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[Path, int] = {}
        self.ranks: dict[int, Seen] = {}
        self.changes = 0
        """Grows with every mark that is progress."""

    def look(self) -> bool:
        """Take in what is new; True where some rank made progress."""
        before = self.changes
        for path in sorted(self._directory.glob("rank-*.jsonl")):
            rank = int(path.stem.partition("-")[2])
            for mark in self._new(path):
                self._take(rank, mark)
        return self.changes > before

    def _new(self, path: Path) -> Iterable[dict[str, Any]]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._read[path] = self._read.get(path, 0) + end
        return [json.loads(line) for line in data[:end].splitlines()]

    def _take(self, rank: int, mark: Mapping[str, Any]) -> None:
        seen = self.ranks.setdefault(rank, Seen(rank))
        seen.local = True
        seen.alive_at = time.monotonic()
        kind = mark["kind"]
        if kind == "beat":
            return
        if kind == "peers":
            self._take_peers(mark["ranks"])
            return
        if kind == "absent" and seen.absent == tuple(mark["ranks"]):
            return
        self.changes += 1
        if kind == "who":
            seen.local_rank, seen.world = mark["local_rank"], mark["world"]
            seen.host, seen.pid = mark["host"], mark["pid"]
        elif kind == "stage":
            seen.stage, seen.call = mark["stage"], ""
        elif kind == "call":
            seen.call, seen.number = mark["call"], mark["number"]
        elif kind == "absent":
            seen.absent = tuple(mark["ranks"])
        elif kind == "wrong":
            seen.wrong.append(dict(mark))
        elif kind == "error":
            seen.error, seen.trace, seen.failed_at = mark["error"], tuple(mark["trace"]), mark["time"]
        elif kind == "said":
            seen.said[mark["name"]] = mark["value"]

    def _take_peers(self, ranks: Mapping[str, Mapping[str, Any]]) -> None:
        """Take in what another node's ranks said through the store; a rank's own file is the better source."""
        for name, told in ranks.items():
            seen = self.ranks.setdefault(int(name), Seen(int(name), local=False))
            if seen.local:
                continue
            if told["beat"] != seen.beat:
                seen.beat, seen.alive_at = told["beat"], time.monotonic()
            new = (told["stage"], told["number"])
            self.changes += new != (seen.stage, seen.number)
            seen.stage, seen.number = new
            seen.call, seen.host = told["call"], told["host"]
            seen.pid, seen.local_rank, seen.world = told["pid"], told["local_rank"], told["world"]
            seen.error = seen.error or told.get("error", "")

    def said(self, name: str) -> Any:
        """Return what some rank reported under a name, the lowest rank first; None where none did."""
        for _, seen in sorted(self.ranks.items()):
            if name in seen.said:
                return seen.said[name]
        return None
