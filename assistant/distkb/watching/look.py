"""One look at a job that runs here: which there are, how long each has been silent, and what can be kept of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from distkb.catalogue.places import state_directory
from distkb.probing.run import ProbeRun
from distkb.watching.bundle import Bundle
from distkb.watching.outputs import written_by
from distkb.watching.processes import command_of, jobs
from distkb.watching.take import recorder_dumps, take
from distkb_probes.environment.launch import Table

RECENT_S = 86_400.0
"""Dumps of flight recorders that are older than this are of another run."""


class LocalJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job whose ranks run on this machine."""

    pids: tuple[int, ...]
    name: str
    """Its script."""
    logs: tuple[Path, ...] = ()
    silent_s: float | None = None
    """Since the last of its logs grew; None where it writes to no file."""


def running() -> list[LocalJob]:
    """Return the jobs of this user here, the one that has been silent longest first."""
    if sys.platform != "linux":
        return []
    found = [_job(tuple(rank.pid for rank in job)) for job in jobs(Table()) if job]
    return sorted(found, key=lambda job: -(job.silent_s or 0.0))


def may_be_of(job: LocalJob, read: Sequence[Path]) -> bool:
    """Whether what was read may be of a job: one of its logs was read, or nothing was."""
    given = [path.absolute() for path in read]
    return not given or any(path == log or path in log.parents for path in given for log in job.logs)


def _job(pids: tuple[int, ...]) -> LocalJob:
    table = Table()
    parents = {table.parent(pid) for pid in pids}
    logs = tuple(path for path in written_by((*pids, *parents)) if path.suffix in {"", ".log", ".out", ".err", ".txt"})
    times = [path.stat().st_mtime for path in logs if path.exists()]
    silent = max(0.0, time.time() - max(times)) if times else None
    return LocalJob(pids=pids, name=command_of(pids[0]), logs=logs, silent_s=silent)


def look(job: LocalJob, started: Callable[[ProbeRun], None] | None = None) -> Path | None:
    """Take the stacks of all ranks twice, their flight recorders and their logs; None where no stack was taken.

    `started` is given the run, whose `cancel` ends it. Raises OSError where nothing can be kept.
    """
    taken = take(job.pids, "", started)
    if not taken.documents:
        return None
    bundle = Bundle(state_directory() / "looks", job.name)
    bundle.stacks(taken)
    bundle.logs(job.logs)
    bundle.dumps(recorder_dumps(job.pids, time.time() - RECENT_S))
    return bundle.path
