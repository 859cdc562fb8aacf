"""What /proc says of a job's ranks at one moment: who they are, what they use, what they wrote."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from distkb_probes.environment.launch import Table
from distkb_probes.environment.processes import NoSuchProcessError
from distkb_probes.stack import ranks

_PROC = "/proc"
_TICKS = os.sysconf("SC_CLK_TCK")
_MOST_BELOW = 512
"""Processes of one rank whose processor time is counted."""


class RankProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process that trains."""

    pid: int
    rank: int | None
    began: int
    """Of its start, in ticks since the boot: a pid may be given anew."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What the ranks have used and written so far."""

    cpu: dict[int, float]
    """Processor seconds of each rank that is there, with all processes below it."""
    wanted: dict[int, float]
    """The same, with the seconds in which they were ready to run and others had the processor."""
    states: dict[int, str]
    written: int | None
    """Bytes that all ranks wrote, to files, terminals and sockets; None where nobody may know."""


class SeveralJobsError(Exception):
    """More than one job runs here; holds one pid and the script of each."""


def find(pids: Sequence[int], slurm_job: str | None = None) -> list[RankProcess]:
    """Return the ranks of the job of these processes, of a Slurm job, or of the only job here.

    Raises NoSuchProcessError for a pid that is not there, SeveralJobsError where it is not clear which job is meant.
    """
    table = Table()
    found = jobs(table, pids)
    if slurm_job is not None:
        found = [job for job in found if job and table.environment(job[0].pid).get("SLURM_JOB_ID") == slurm_job]
    if len(found) > 1:
        named = [f"{job[0].pid} ({_script(table.words(job[0].pid))})" for job in found[:6] if job]
        raise SeveralJobsError(", ".join(named))
    return found[0] if found else []


def jobs(table: Table, pids: Sequence[int] = ()) -> list[list[RankProcess]]:
    """Return the ranks of every job here, or of the job of these processes; raises NoSuchProcessError."""
    return [_ranks(job) for job in ranks.find(tuple(pids), table)]


def _ranks(found: Sequence[ranks.Rank]) -> list[RankProcess]:
    return [
        RankProcess(pid=one.pid, rank=one.rank, began=began)
        for one in found
        if (one.rank is not None or _runs_python(one.pid)) and (began := _began(one.pid)) is not None
    ]


def below(pid: int) -> list[int]:
    """Return all processes below one, parents first."""
    found: list[int] = []
    queue = [pid]
    while queue and len(found) < _MOST_BELOW:
        children = _children(queue.pop())
        found += children
        queue += children
    return found


def alive(rank: RankProcess) -> bool:
    """Whether the process is still there, and still the same."""
    stat = _stat(rank.pid)
    return stat is not None and stat[0] not in ("Z", "X") and stat[2] == rank.began


def sample(found: Iterable[RankProcess]) -> Sample:
    """Look at the ranks once: a few small files of each."""
    cpu: dict[int, float] = {}
    wanted: dict[int, float] = {}
    states: dict[int, str] = {}
    written: int | None = 0
    for rank in found:
        stat = _stat(rank.pid)
        if stat is None:
            continue
        states[rank.pid] = stat[0]
        under = below(rank.pid)
        cpu[rank.pid] = stat[1] + sum(one[1] for pid in under if (one := _stat(pid)) is not None)
        wanted[rank.pid] = cpu[rank.pid] + sum(map(ranks.queued_seconds, (rank.pid, *under)))
        wrote = ranks.written_bytes(rank.pid)
        written = None if written is None or wrote is None else written + wrote
    return Sample(cpu=cpu, wanted=wanted, states=states, written=written)


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with, empty where nobody may read it."""
    return Table(stats={}).environment(pid)


def directory_of(pid: int) -> Path | None:
    """Return where a process works."""
    try:
        return Path(_PROC, str(pid), "cwd").readlink()
    except OSError:
        return None


def command_of(pid: int) -> str:
    """Return the script of a process, else the end of its command, for a sentence."""
    return _script(Table(stats={}).words(pid))


def script_of(pid: int) -> Path | None:
    """Return the path of a process's script, where it is there."""
    named = next((word for word in Table(stats={}).words(pid) if word.endswith(".py")), None)
    path = None if named is None else (directory_of(pid) or Path()) / named
    return path if path is not None and path.is_file() else None


def _script(words: Sequence[str]) -> str:
    return next((Path(word).name for word in words if word.endswith(".py")), Path(words[0]).name if words else "?")[:60]


def _runs_python(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "python" in Path(_PROC, str(pid), "exe").readlink().name
    return False


def _began(pid: int) -> int | None:
    stat = _stat(pid)
    return None if stat is None else stat[2]


def _stat(pid: int) -> tuple[str, float, int] | None:
    """Return the state, the processor seconds and the start of a process (proc(5), stat)."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123 - many times a minute
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{_PROC}/{pid}/task"):  # noqa: PTH208 - names only
            with contextlib.suppress(OSError), open(f"{_PROC}/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    return found


__all__ = [
    "NoSuchProcessError",
    "RankProcess",
    "Sample",
    "SeveralJobsError",
    "alive",
    "below",
    "find",
    "jobs",
    "sample",
]
