"""Watches the ranks of the smoke test until they are done, one fails, or nothing has moved for too long."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from distkb_probes.communication.launch import ours, state
from distkb_probes.communication.marks import STAGES, Board, Seen
from distkb_probes.communication.plan import TEARDOWN_S, Plan

_POLL_S = 0.04
_STACKS_S = 0.6
_DEAD_S = 1.5
"""For so long a rank may be dead before its launcher has to have noticed."""
_TAIL_BYTES = 16 << 10
_FAILED = r"failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\)"
_NATIVE = ("frame #", "Exception raised from ", "<omitting python frames>")
"""Begin the lines of a C++ stack, which say nothing to people."""
_FAILED_TABLE = r"exitcode\s*: (-?\d+) \(pid: (\d+)\)"
_CLOSED = r"Sending process (\d+) closing signal"


End = Literal["done", "ended", "hang", "late"]
"""All stages passed; a rank or the launcher ended; nothing moved for too long; the deadline came while ranks moved."""


@dataclass
class Outcome:
    """How the smoke test ended, with all that is needed to say why."""

    end: End
    board: Board
    stage: str
    """The stage at which the job as a whole stands."""
    waited_s: float = 0.0
    """For how long nothing had moved."""
    code: int | None = None
    """Exit code of the launcher, where it ended."""
    launcher: list[str] = field(default_factory=list)
    """Last lines of the launcher's output."""
    output: dict[int, list[str]] = field(default_factory=dict)
    """Rank → last lines that it printed."""
    stacks: dict[int, str] = field(default_factory=dict)
    """Rank → the frame in which its main thread stood."""
    states: dict[int, str] = field(default_factory=dict)
    """Rank → state of its process (R, S, D, T), empty where it has ended."""
    exits: dict[int, int | None] = field(default_factory=dict)
    """Rank → exit code of a rank that ended by itself, negative for a signal, None where nobody saw it."""


class Watch:
    """One look after another, each at all ranks of this node and what they heard of the others."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        process: subprocess.Popen[bytes],
        tell: Callable[[str, int, int], None],
        nodes: Callable[[], object] = lambda: None,
    ) -> None:
        """`tell` is called with the stage that the slowest rank has reached, how many are there, and of how many.

        A change of what `nodes` returns counts as progress: another node has come.
        """
        self.plan = plan
        self.board = Board(directory)
        self._directory = directory
        self._process = process
        self._tell = tell
        self._told = ""
        self._nodes = nodes
        self._known = nodes()
        self._gone: dict[int, float] = {}
        self.finished = False
        """Whether every rank of this node has passed all stages."""

    def run(self) -> Outcome:
        """Wait for the end."""
        began = moved = time.monotonic()
        end_by = began + self.plan.deadline_s - TEARDOWN_S
        while True:
            if self.board.look() or self._nodes_moved():
                moved = time.monotonic()
            now = time.monotonic()
            self._say()
            if self._all_done():
                return self._outcome("done", 0.0)
            if self._process.poll() is not None:
                self.board.look()
                return self._outcome("done" if self._all_done() else "ended", now - moved)
            self._note_the_dead(now)
            if self._dead_for(now) > _DEAD_S:
                return self._outcome("ended", now - moved)
            share = self.plan.share_s(self.stage())
            if now >= end_by or now - moved >= share:
                late = self.board.ranks and now - moved < share / 2
                return self._outcome("late" if late else "hang", now - moved)
            time.sleep(_POLL_S)

    def _nodes_moved(self) -> bool:
        before, self._known = self._known, self._nodes()
        return before != self._known

    def stage(self) -> str:
        """Return the furthest stage that a rank has entered: where the job as a whole stands."""
        return max((seen.stage for seen in self.board.ranks.values()), key=STAGES.index, default="launch")

    def expected(self) -> int:
        """Return how many ranks the job has, as far as that is known."""
        known = max((seen.world for seen in self.board.ranks.values()), default=0)
        return known or (1 if self.plan.inside else self.plan.nproc * self.plan.nnodes)

    def _local(self) -> list[Seen]:
        return [seen for seen in self.board.ranks.values() if seen.local]

    def _all_done(self) -> bool:
        mine = self._local()
        return len(mine) == (1 if self.plan.inside else self.plan.nproc) and all(seen.done for seen in mine)

    def _say(self) -> None:
        ranks = self.board.ranks.values()
        slowest = min((seen.stage for seen in ranks), key=STAGES.index, default="launch")
        if slowest not in {self._told, "done"}:
            self._told = slowest
            self._tell(slowest, len(ranks), self.expected())

    def _note_the_dead(self, now: float) -> None:
        for seen in self._local():
            if not seen.done and not seen.error and seen.pid and state(seen.pid) in ("", "Z", "X"):
                self._gone.setdefault(seen.rank, now)

    def _dead_for(self, now: float) -> float:
        """Return for how long a rank has been dead."""
        return max((now - since for since in self._gone.values()), default=0.0)

    def _outcome(self, end: End, waited_s: float) -> Outcome:
        outcome = Outcome(end, self.board, self.stage(), waited_s, self._process.poll())
        if end == "done":
            self.finished = True
            return outcome
        outcome.launcher = _tail(self._directory / "launcher.log")
        for seen in self._local():
            outcome.states[seen.rank] = state(seen.pid)
            outcome.output[seen.rank] = self._printed(seen)
        if end == "hang":
            # Last, because the signal interrupts system calls, and what a rank prints then says nothing of the job.
            outcome.stacks = self._take_stacks()
        self._exits(outcome)
        return outcome

    def _exits(self, outcome: Outcome) -> None:
        """Say how ranks ended: those that the launcher itself ended, or took with it, are left out."""
        if not self.plan.inside and outcome.code is not None and outcome.code < 0:
            return
        log = (self._directory / "launcher.log").read_text(encoding="utf-8", errors="replace")
        closed = {int(pid) for pid in re.findall(_CLOSED, log)}
        # The line names the process that torchrun found first; its table at the end names all that failed.
        codes = {int(pid): int(code) for code, pid in re.findall(_FAILED_TABLE, log)}
        codes |= {int(pid): int(code) for code, _, pid in re.findall(_FAILED, log)}
        for seen in self._local():
            if seen.done or seen.error or seen.pid in closed:
                continue
            if seen.pid in codes:
                outcome.exits[seen.rank] = codes[seen.pid]
            elif self.plan.inside and outcome.code is not None:
                outcome.exits[seen.rank] = outcome.code
            elif seen.rank in self._gone and not codes:
                outcome.exits[seen.rank] = None

    def _take_stacks(self) -> dict[int, str]:
        """Ask every living rank of this node where its main thread is; one that is suspended does not answer."""
        asked = [seen for seen in self._local() if ours(seen.pid)]
        for seen in asked:
            with contextlib.suppress(OSError):
                os.kill(seen.pid, signal.SIGUSR1)
        until = time.monotonic() + _STACKS_S
        files = {seen.rank: self._directory / f"stacks-{seen.rank}.txt" for seen in asked}
        while time.monotonic() < until and not all(file.exists() and file.stat().st_size for file in files.values()):
            time.sleep(_POLL_S)
        time.sleep(_POLL_S)
        frames = {rank: innermost(_tail(file)) for rank, file in files.items()}
        return {rank: frame for rank, frame in frames.items() if frame}

    def _printed(self, seen: Seen) -> list[str]:
        """Return the rank's last lines, those of NCCL before those of Python: NCCL writes to stdout."""
        if self.plan.inside:
            return _tail(self._directory / "launcher.log")
        folder = f"*/attempt_0/{seen.local_rank}"
        names = ("stdout.log", "stderr.log")
        paths = [path for name in names for path in (self._directory / "logs").glob(f"{folder}/{name}")]
        return [line for path in paths for line in _tail(path)]


def innermost(dump: list[str]) -> str:
    """Return the innermost frame of the main thread in a dump of faulthandler, past torch's own wrappers."""
    frames: list[str] = []
    current = False
    for line in dump:
        if "most recent call first" in line:
            current = line.startswith("Current thread")
        elif current and line.lstrip().startswith("File "):
            frames.append(line.strip())
    for frame in frames:
        if "c10d_logger.py" not in frame and "contextlib.py" not in frame:
            return frame
    return frames[0] if frames else ""


def _tail(path: Path) -> list[str]:
    """Return the last lines of a file that hold anything; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith(_NATIVE)]
