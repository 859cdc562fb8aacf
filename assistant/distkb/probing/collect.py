"""Collects the stacks and flight recorders of all ranks of one job, on this machine or on every node of it.

The command line, a watcher and the screen call `collect` and get one value: a document for each rank, which way each
was taken (socket, ptrace, trace), and what could not be read. Nothing in it signals or pauses a process.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from distkb.evidence.border import fit
from distkb.evidence.readers.stacks.documents import from_saved
from distkb.probing.document import RawDocument
from distkb.probing.env.view import records
from distkb.probing.run import Listener, ProbeRun

if TYPE_CHECKING:
    from distkb.evidence.readers.stacks.model import Dump

Way = Literal["socket", "ptrace", "trace"]
"""How a rank's stack was taken: `live.serve()` answered, py-spy read its memory, or its tracer had written a file."""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Which job. Nothing at all means the only job of this user here; inside a Slurm step, that step's job."""

    pids: tuple[int, ...] = ()
    """A rank, its launcher or a process below: all ranks of that launch. Several name the ranks themselves.

    Beside pods or hosts, a rank of the one job there that is meant."""
    job: str = ""
    """A Slurm job id: every node of it is asked, from inside or outside the allocation."""
    pods: str = ""
    """A PyTorchJob, JobSet or Job, `[NAMESPACE/]NAME`: every pod of it is asked with `kubectl exec`."""
    hosts: tuple[str, ...] = ()
    """Hosts that are asked with `ssh`."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """One rank whose stack was taken, and how."""

    host: str
    pid: int
    rank: int | None
    way: Way
    passed: tuple[str, ...] = ()
    """Better ways that did not work, each `way:code`, such as `socket:absent`, `ptrace:denied`."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A process or a node that could not be read: its part of the answer is unknown, never "nothing wrong"."""

    host: str
    pid: int | None = None
    """None where a whole node gave no answer."""
    rank: int | None = None
    passed: tuple[str, ...] = ()
    """Each way and why it did not work, `way:code`; empty where even the environment is hidden."""
    error: str = ""
    """What the command to the node said."""

    @property
    def label(self) -> str:
        """The rank, or what is known of a process or node without one."""
        return f"? ({self.pid or self.host})" if self.rank is None else str(self.rank)

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped it, so that nobody at its socket answers."""
        return "socket:stopped" in self.passed


class Recorder(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank's flight recorder holds, as torch writes it in JSON."""

    host: str
    pid: int
    rank: int | None
    trace: dict[str, Any]


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """All that was taken of one job."""

    documents: tuple[dict[str, Any], ...]
    """`distkb.stacks/1`, one a rank: what `probe stacks --save` writes and `evidence.readers.stacks` reads."""
    taken: tuple[Taken, ...]
    unread: tuple[Unread, ...]
    recorders: tuple[Recorder, ...]
    raw: RawDocument
    """The answer of all nodes as one probe's, for `distkb.probing.judge.answer`; `facts["dumps"]` are the documents."""
    seconds: float
    """From the first question to the last answer of a rank, without the start of processes."""

    @property
    def written(self) -> int | None:
        """Bytes that all ranks wrote so far; None where a node could not say it of one."""
        counts = [document.get("written") for document in self.documents]
        whole = [count for count in counts if isinstance(count, int)]
        return sum(whole) if whole and len(whole) == len(counts) else None

    def dumps(self) -> list[Dump]:
        """Return the documents as the stack readers take them, for `distkb.evidence.readers.stacks.judge`."""
        found = (from_saved(document, f"/proc/{document.get('pid')}") for document in self.documents)
        return [dump for dump in found if dump is not None]


def collect(
    where: Where,
    python: Path,
    *,
    snapshots: int = 2,
    recorders: bool = False,
    deadline_s: float = 60.0,
    listener: Listener | None = None,
    started: Callable[[ProbeRun], None] | None = None,
) -> Collected:
    """Take the stacks of all ranks, `snapshots` times a second apart, and their flight recorders where asked for.

    `python` is the user's interpreter; nodes where it is not there use their `python3`. Never raises for what a
    process, a node or a tool does: that is in `unread`, and in `raw.status` and `raw.reason` where nothing was taken.
    Ctrl-C ends it with everything it started, as does `cancel` of the run that `started` is given.
    """
    request: dict[str, Any] = {
        "pids": list(where.pids),
        "tools": [str(Path(sys.executable).parent / "py-spy")],
        "snapshots": snapshots,
        "recorders": recorders,
        "node_python": str(python),
        "via": _via(where),
    }
    run = ProbeRun("stacks", request, python, deadline_s=deadline_s, listener=listener)
    if started is not None:
        started(run)
    return _collected(run.result())


def _via(where: Where) -> dict[str, Any]:
    if where.job:
        return {"slurm": where.job}
    if where.pods:
        return {"pods": where.pods}
    return {"hosts": list(where.hosts)} if where.hosts else {}


def _collected(raw: RawDocument) -> Collected:
    """Sort what the probe said; what is not as it should be is left out, for it comes from other processes."""
    facts = raw.facts
    lost = [Unread(host=str(row.get("node")), error=str(row.get("error"))) for row in records(facts.get("lost_nodes"))]
    seconds = facts.get("capture_s")
    return Collected(
        documents=tuple(records(facts.get("dumps"))),
        taken=_read(facts.get("taken"), Taken),
        unread=(*_read(facts.get("unread"), Unread), *lost),
        recorders=_read(facts.get("recorders"), Recorder),
        raw=raw,
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
    )


def save(directory: Path, taken: Collected) -> None:
    """Write a file for each rank and one for its flight recorder, readable by this user only and without secrets."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for document in taken.documents:
        host = re.sub(r"[^\w.-]", "_", str(document.get("host") or "host"))[:80]
        rank, pid = document.get("rank"), document.get("pid")
        _write(directory / (f"pid{pid}-{host}.json" if rank is None else f"rank{rank}-{host}-{pid}.json"), document)
    for recorder in taken.recorders:
        if recorder.rank is not None:
            _write(directory / f"fr_trace_rank_{recorder.rank}.json", recorder.trace)


def _write(path: Path, document: dict[str, Any]) -> None:
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.encode(fit(document)) + b"\n")


Row = TypeVar("Row", bound=msgspec.Struct)


def _read(value: object, kind: type[Row]) -> tuple[Row, ...]:
    found: list[Row] = []
    for row in records(value):
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(row, kind))
    return tuple(found)
