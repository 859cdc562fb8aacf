"""Collects the stacks and flight recorders of all ranks of one job, on this machine or on every node of it.

The command line, a watcher and the screen call `collect` and get one value: a document for each rank, which way each
was taken (socket, ptrace, trace), and what could not be read. Nothing in it signals or pauses a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from distkb.probing.document import RawDocument

if TYPE_CHECKING:
    from pathlib import Path

    from distkb.evidence.readers.stacks.model import Dump
    from distkb.probing.run import Listener

Way = Literal["socket", "ptrace", "trace"]
"""How a rank's stack was taken: `live.serve()` answered, py-spy read its memory, or its tracer had written a file."""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Which job. Nothing at all means the only job of this user here; inside a Slurm step, that step's job."""

    pids: tuple[int, ...] = ()
    """A rank, its launcher or a process below: all ranks of that launch. Several name the ranks themselves."""
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
    code: str
    """Such as `owner`, `environ`, `denied`, `stopped`, `silent`, `node`."""
    pid: int | None = None
    rank: int | None = None
    detail: str = ""


class Recorder(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank's flight recorder holds, as torch writes it in JSON."""

    host: str
    pid: int
    rank: int | None
    trace: Mapping[str, Any]


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

    def dumps(self) -> list[Dump]:
        """Return the documents as the stack readers take them, for `distkb.evidence.readers.stacks.judge`."""
        raise NotImplementedError


def collect(  # noqa: PLR0913 - all but the job are options
    where: Where,
    python: Path,
    *,
    snapshots: int = 2,
    recorders: bool = False,
    deadline_s: float = 60.0,
    listener: Listener | None = None,
) -> Collected:
    """Take the stacks of all ranks, `snapshots` times a second apart, and their flight recorders where asked for.

    `python` is the user's interpreter; nodes where it is not there use their `python3`. Never raises for what a
    process, a node or a tool does: that is in `unread`, and in `raw.status` and `raw.reason` where nothing was taken.
    Ctrl-C ends it with everything it started.
    """
    raise NotImplementedError
