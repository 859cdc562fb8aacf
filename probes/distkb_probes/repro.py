"""Runs a reproduction as a user would start it, and keeps what a user would have.

The request names the program, one launch per node (or one), the folder to leave everything in, and the time allowed.
The program is copied to a folder of its own as `train.py` and runs in an empty working directory. All output goes to
`console.log` and, as it comes, to stderr. When it goes quiet while ranks are alive, their stacks are taken once. It
needs no torch itself, and only Linux has what it takes to look into processes; elsewhere there are no stacks.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb_probes import stacks
from distkb_probes._lifeline import die_with_parent
from distkb_probes._report import Report, Stopped

PROGRAM = "{program}"
"""Stands in a command for the path of the copied program."""
_POLL_S = 0.1
_LOOK_S = 0.5
"""Seconds between two looks at a quiet run."""
_DRAIN_S = 1.0
"""Seconds for which output is read on after the launcher has ended; a process that lives on may hold the pipe open."""
_STACKS_S = 10.0
_BUSY, _BUSY_FACTOR = 0.2, 2.0
"""CPU share from which a rank works rather than waits: then a silence has to last longer to count."""
_BURST_S = 1.0
_ERROR = re.compile(rb"(?i)traceback|error|exception|timed? ?out|terminat|abort|kill|signal|fail")
_GLOG = re.compile(rb"[IWEF]\d{4} |\[(?:rank\d+\]:)?\[?[IWEF]\d{4} ")
"""How a line of torch's own logs begins, behind torchrun's label: such a warning may come before the error that ends a
silence."""
_LABEL = re.compile(rb"^\[[\w-]{1,40}\]:")
_IMPORTS = "<frozen importlib"


class Launch:
    """One command of the run, with its console and its working directory."""

    def __init__(self, spec: Mapping[str, Any], program: Path) -> None:
        """Start it."""
        home = Path(spec["home"])
        self.work = home / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.pending = b""
        self._console = (home / "console.log").open("wb")
        parent = os.getpid()
        self.process = subprocess.Popen(  # noqa: S603 - the program that the user asked to see
            [word.replace(PROGRAM, str(program)) for word in spec["argv"]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.work,
            preexec_fn=lambda: die_with_parent(parent),  # noqa: PLW1509 - there is one thread
        )
        assert self.process.stdout is not None  # noqa: S101 - a pipe was asked for
        self.pipe = self.process.stdout.fileno()
        self.open = True

    def take(self) -> bytes:
        """Read what is there: into the console's file, and whole lines to stderr. Returns it."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            self.open = False
            self._show(self.pending)
            return b""
        self._console.write(data)
        self._console.flush()
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self._show(line)
        return data

    def close(self) -> None:
        """Close the console's file; an empty working directory is no artifact."""
        self._console.close()
        if not any(self.work.iterdir()):
            self.work.rmdir()

    @staticmethod
    def _show(line: bytes) -> None:
        if line.strip():
            # The bar keeps the program's indentation, and its lines apart from our own marks of progress.
            sys.stderr.write(f"| {line.decode('utf-8', 'replace').rstrip()}\n")
            sys.stderr.flush()


def run(request: Mapping[str, Any], report: Report) -> None:
    """Run the launches to their end, or until `limit_s` has passed. Facts: exit_codes, timed_out, seconds, stacks."""
    began = time.monotonic()
    program = Path(tempfile.gettempdir()) / "train.py"  # the guard's own folder
    shutil.copyfile(request["program"], program)
    for command in request.get("prepare") or ():
        _prepare(command, report)
    try:
        launches = [Launch(spec, program) for spec in request["launches"]]
    except OSError as problem:
        report.fail("not-started", f"{problem.filename}: {problem.strerror}")
    watch = _Watch(request, report)
    until = began + float(request["limit_s"])
    timed_out = False
    while any(launch.process.poll() is None for launch in launches):
        if time.monotonic() > until:
            timed_out = True
            break
        if said := _read(launches, _POLL_S):
            watch.heard(said)
        else:
            watch.look([launch.process.pid for launch in launches if launch.process.poll() is None], until)
    seconds = time.monotonic() - began
    drained = time.monotonic() + _DRAIN_S
    while any(launch.open for launch in launches) and time.monotonic() < drained and not timed_out:
        watch.heard(_read(launches, _POLL_S))
    watch.end()
    for launch in launches:
        launch.close()
    report.fact("exit_codes", [launch.process.poll() for launch in launches])
    report.fact("timed_out", timed_out)
    report.fact("seconds", round(seconds, 2))
    report.fact("stacks", watch.ranks)


def _prepare(command: Sequence[str], report: Report) -> None:
    done = subprocess.run(  # noqa: S603 - the entry's own network.sh
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        report.fail("network", said[-1] if said else str(done.returncode))


def _read(launches: Sequence[Launch], seconds: float) -> bytes:
    """Return what the launches print within some seconds."""
    pipes = {launch.pipe: launch for launch in launches if launch.open}
    if not pipes:
        time.sleep(seconds)
        return b""
    ready = select.select(list(pipes), [], [], seconds)[0]
    return b"".join([pipes[pipe].take() for pipe in ready])


class _Watch:
    """Takes the stacks when a run has printed nothing for a while, and drops them if it then simply goes on."""

    def __init__(self, request: Mapping[str, Any], report: Report) -> None:
        self._report = report
        self._quiet_s = float(request.get("quiet_s") or 0.0)
        self._folder = Path(request["stacks"]) if request.get("stacks") else None
        self._tools = [str(tool) for tool in request.get("tools") or ()]
        self._last = self._looked = time.monotonic()
        self._resumed: float | None = None
        self._burst = b""
        self.ranks = 0
        """Of how many ranks there are stacks."""

    def heard(self, data: bytes) -> None:
        """Note what the run has printed. A hang ends with an error; what goes on first was at a slow moment."""
        self._last = time.monotonic()
        if not self.ranks:
            return
        self._resumed = self._resumed or self._last
        if self._last - self._resumed <= _BURST_S:
            self._burst += data
        self._decide()

    def end(self) -> None:
        """Decide what became of the last silence."""
        self._decide(over=True)

    def _decide(self, *, over: bool = False) -> None:
        """Drop the stacks if what was printed in the second after the silence does not begin with an error."""
        resumed = self._resumed
        if resumed is None or (not over and time.monotonic() - resumed <= _BURST_S) or _ended(self._burst):
            return
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self.ranks, self._resumed, self._burst = 0, None, b""

    def look(self, pids: Sequence[int], until: float) -> None:
        """Take the stacks if it is time."""
        self._decide()
        now = time.monotonic()
        quiet = now - self._last
        if not self._quiet_s or quiet < self._quiet_s or now - self._looked < _LOOK_S:
            return
        if pids and self._folder is not None and not self.ranks:
            self._looked = now
            self._take(pids, quiet, min(_STACKS_S, until - now))

    def _take(self, pids: Sequence[int], quiet: float, seconds: float) -> None:
        inner = Report("stacks")
        try:
            stacks.run({"pids": list(pids), "tools": self._tools, "deadline_s": max(2.0, seconds)}, inner)
        except Stopped:
            if inner.reason == "stacks-no-tool":
                self._folder = None
        except OSError:  # a process that ends while it is looked at
            pass
        self._looked = time.monotonic()
        dumps = inner.document()["facts"].get("dumps") or []
        busy = any((dump["cpu"] or 0.0) > _BUSY for dump in dumps)
        if not dumps or _still_starting(dumps) or (busy and quiet < _BUSY_FACTOR * self._quiet_s):
            return
        self._save(dumps)
        self._report.stage("repro.stacks", n=len(dumps), seconds=f"{self._looked - self._last:.0f}")

    def _save(self, dumps: Sequence[Mapping[str, Any]]) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self.ranks, self._resumed, self._burst = len(dumps), None, b""
        for dump in dumps:
            host = re.sub(r"[^\w.-]", "_", str(dump["host"]))[:80]
            whose = f"pid{dump['pid']}" if dump["rank"] is None else f"rank{dump['rank']}-{host}-{dump['pid']}"
            (self._folder / f"{whose}.json").write_text(json.dumps(dump), encoding="utf-8")


def _ended(printed: bytes) -> bool:
    """Whether a silence ended with an error, and not with lines of a program that goes on."""
    for line in printed.splitlines():
        if _ERROR.search(line):
            return True
        if line.strip() and not _GLOG.match(_LABEL.sub(b"", line)):
            return False
    return False


def _still_starting(dumps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a rank is importing: a slow start is no hang."""
    for dump in dumps:
        last = dump["snapshots"][-1] if dump["snapshots"] else []
        main = next((thread for thread in last if thread.get("thread_name") == "MainThread"), None)
        frames = (main or {}).get("frames") or []
        if not frames or any(str(frame.get("filename", "")).startswith(_IMPORTS) for frame in frames):
            return True
    return False
