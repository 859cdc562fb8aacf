"""Runs an entry's program below the guard of probes, so that nothing of it is left behind, and keeps its artifacts."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import msgspec

from distkb.probing.run import Listener, ProbeRun
from distkb.repro import launch
from distkb.repro.nodes import nodes
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import Program, modules

MARK = ".distkb-repro.json"
"""In a folder of artifacts: which run left them. A later run may replace what stands beside it."""
EXIT_RACE = "terminate called without an active exception"
"""What torch 2.13.0 on CPU prints when a thread of gloo lets go of a tensor while the interpreter ends, after the last
line of the program (pytorch#190489). The catalogue's programs end with a pause against it, `monitored_barrier`, which
others may lack: a fixed run that ends so is repeated."""
_MOST_TRIES = 3
_END_S = 20.0
"""Seconds beyond the program's own for the stacks, the network and the sweep."""
_OURS = ("console.log", "ranks", "work", launch.STACKS, launch.RECORDER)


class Reproduction:
    """One reproduction: `result` runs it to its end, `cancel`, from any thread, ends it with all its processes."""

    def __init__(
        self, program: Program, artifacts: Path, python: Path, *, fixed: bool, listener: Listener | None = None
    ) -> None:
        """Prepare it; `artifacts` is a folder that is made, and must not hold anything but an earlier run's."""
        self.program = program
        self.fixed = fixed
        self._artifacts = artifacts.absolute()
        self._python = python
        self._listener = listener
        self._run: ProbeRun | None = None
        self._cancelled = False

    def result(self) -> ProgramRun:
        """Run the program. Raises NodesUnavailableError where its machines cannot be made, and OSError."""
        run = self._once()
        for _ in range(_MOST_TRIES - 1):
            if not self.fixed or run.succeeded or run.reason is not None or not run.printed(EXIT_RACE):
                break
            run = self._once()
        return run

    def cancel(self) -> None:
        """End it."""
        self._cancelled = True
        if self._run is not None:
            self._run.cancel()

    def _once(self) -> ProgramRun:
        if self._cancelled:
            return ProgramRun(artifacts=self._artifacts, reason="cancelled")
        clear(self._artifacts)
        (self._artifacts / launch.RECORDER).mkdir(parents=True)
        spec = self.program.spec
        with contextlib.ExitStack() as stack:
            hosts = stack.enter_context(nodes(spec.nodes)) if spec.launch == "nodes" else ()
            self._run = ProbeRun(
                "repro",
                launch.request(self.program, self._python, self._artifacts, hosts, fixed=self.fixed),
                self._python,
                deadline_s=launch.limit(self.program) + _END_S,
                environ=launch.environment(self.program, self._artifacts, modules(self._python).get("torch", "")),
                listener=self._listener,
            )
            if self._cancelled:
                self._run.cancel()
            raw = self._run.result()
        for folder in (self._artifacts, *self._artifacts.glob("node*")):
            for name in (launch.RECORDER, "ranks"):
                with contextlib.suppress(OSError):
                    (folder / name).rmdir()
        facts = raw.facts
        run = ProgramRun(
            artifacts=self._artifacts,
            exit_codes=tuple(facts.get("exit_codes", ())),
            timed_out=bool(facts.get("timed_out")),
            seconds=float(facts.get("seconds", raw.elapsed_s)),
            stacks=int(facts.get("stacks", 0)),
            reason=raw.reason,
            detail=raw.detail,
        )
        self._mark(run)
        return run

    def _mark(self, run: ProgramRun) -> None:
        left = {"schema": "distkb.repro-run/1", "entry": self.program.entry.id, "fixed": self.fixed}
        left |= {"exit_codes": run.exit_codes, "timed_out": run.timed_out, "seconds": run.seconds}
        (self._artifacts / MARK).write_bytes(msgspec.json.encode(left) + b"\n")


class NotEmptyError(ValueError):
    """A folder for artifacts holds something that no reproduction has left."""


def clear(folder: Path) -> None:
    """Make a folder ready for artifacts. Raises NotEmptyError where something of others is in it."""
    present = sorted(folder.iterdir()) if folder.is_dir() else []
    ours = (folder / MARK).is_file()
    for path in present:
        if not ours or not (path.name in (*_OURS, MARK) or (path.is_dir() and path.name.startswith("node"))):
            raise NotEmptyError(str(path))
    for path in present:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    # Before the run, so that what an interrupted one leaves may be replaced as well.
    (folder / MARK).write_bytes(b"{}\n")
