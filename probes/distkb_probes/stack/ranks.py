"""Finds the ranks on this machine: of the job that a pid belongs to, or of every job of this user."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from distkb_probes.environment.launch import Table, find_launch, is_launcher
from distkb_probes.environment.processes import PROC, NoSuchProcessError, owner_of, stat_of

_NAMES = (
    ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID"),
)
"""Variables of a rank, the world's size, the ranks on this machine, and the rank among those; the first set counts."""
_MASTER = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
_OWN = frozenset({"distkb", "distkb_probes", "_guard.py"})
COURIER = '"""distkb-courier:'
"""Begins what distkb runs on another node: it is no rank, whatever Slurm gives to it."""


@dataclass(frozen=True)
class Rank:
    """One process that trains."""

    pid: int
    rank: int | None
    world_size: int | None
    local_world_size: int | None
    local_rank: int | None
    by_torchrun: bool
    job: str = ""
    """What its job is told by: the master it names, else the step of Slurm."""

    @property
    def expected(self) -> range:
        """The ranks that torchrun has started on this machine."""
        if not self.by_torchrun or self.rank is None or self.local_rank is None or self.local_world_size is None:
            return range(0)
        first = self.rank - self.local_rank
        return range(first, first + min(self.local_world_size, 4096))


def find(pids: Sequence[int], table: Table, slurm: str = "") -> list[list[Rank]]:
    """Return the ranks, one list a job, in order of rank. Raises NoSuchProcessError for a pid that is not there.

    Without pids those of this user; with a Slurm job `ID` or step `ID.STEP` its own, and nothing else that runs here.
    """
    if pids:
        launch = find_launch(pids, table)
        found = [pid for pid in launch.ranks if not is_launcher(table.words(pid)) and pid != os.getpid()]
        if not any(_rank(pid, table).rank is not None for pid in found):
            found = _unnamed(pids, table) or found
        return [_ordered(found, table)] if found else []
    above = _above(table)
    mine = [pid for pid in sorted(table.stats) if (_of_slurm(pid, slurm, table) if slurm else _is_mine(pid))]
    jobs: dict[str, list[int]] = {}
    for pid in mine:
        if pid not in above and _trains(pid, table):
            jobs.setdefault(_job(table.environment(pid)), []).append(pid)
    if not jobs:
        launchers = [pid for pid in mine if pid not in above and is_launcher(table.words(pid))]
        hidden = _unnamed(launchers, table)
        return [_ordered(hidden, table)] if hidden else []
    return [_ordered(job, table) for job in jobs.values()]


def unreadable(table: Table, slurm: str = "") -> list[int]:
    """Return the Python processes of this user whose environment is hidden: whether they are ranks, nobody knows."""
    above = _above(table)
    mine = [pid for pid in sorted(table.stats) if pid not in above and _is_mine(pid) and _is_python(pid, table)]
    for pid in mine:
        table.environment(pid)
    return [
        pid
        for pid in mine
        if pid in table.hidden and not _is_helper(pid, table) and (not slurm or _is_step(pid, table))
    ]


def of_others(table: Table) -> dict[int, list[int]]:
    """Return uid → Python processes that a launcher of another user has started here."""
    found: dict[int, list[int]] = {}
    for pid in sorted(table.stats):
        if is_launcher(table.words(table.parent(pid))) and not is_launcher(table.words(pid)) and _is_python(pid, table):
            owner = owner_of(pid)
            if owner is not None and owner != os.getuid():
                found.setdefault(owner, []).append(pid)
    return found


def _above(table: Table) -> set[int]:
    """Return this process and all that have started it."""
    return {os.getpid(), *table.ancestors(os.getpid())}


def _of_slurm(pid: int, slurm: str, table: Table) -> bool:
    job, _, step = slurm.partition(".")
    environment = table.environment(pid)
    return environment.get("SLURM_JOB_ID") == job and (not step or environment.get("SLURM_STEP_ID") == step)


def _is_step(pid: int, table: Table) -> bool:
    """Whether Slurm has started a process, here or above it."""
    return any("slurmstepd" in (table.words(above) or [""])[0] for above in table.ancestors(pid))


def _unnamed(pids: Sequence[int], table: Table) -> list[int]:
    """Return the Python processes right below these that train without saying so: torch's spawn, or hidden ones."""
    found: list[int] = []
    for pid in pids:
        below = [child for child in table.children(pid) if _is_python(child, table) and not _is_helper(child, table)]
        launcher = is_launcher(table.words(pid))
        found += [child for child in below if not is_launcher(table.words(child)) and (launcher or _has_torch(child))]
        found += _unnamed([child for child in below if is_launcher(table.words(child))], table)
    return found


def _trains(pid: int, table: Table) -> bool:
    """Whether a process is a rank: Python with a rank of its own, which its parent does not have."""
    mine = _identity(table.environment(pid))
    if mine is None or not _is_python(pid, table) or is_launcher(table.words(pid)) or _is_helper(pid, table):
        return False
    parent = table.parent(pid)
    same = _identity(table.environment(parent)) == mine
    return not same or not _is_python(parent, table) or is_launcher(table.words(parent))


def _identity(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    for rank, world, _, _ in _NAMES:
        # Inside one Slurm task `SLURM_PROCID` is there as well; a world of one is no distributed job.
        if rank == "SLURM_PROCID" and "SLURM_STEP_ID" not in environment:
            continue  # the batch script, not a task of a step
        if rank in environment and environment.get(world, "1") != "1":
            return rank, environment[rank], *(environment.get(name, "") for name in _MASTER)
    return None


def _job(environment: Mapping[str, str]) -> str:
    """Return what tells the ranks of one job from those of another, on every node the same."""
    named = "MASTER_ADDR" in environment and "MASTER_PORT" in environment
    return " ".join(environment.get(name, "") for name in (_MASTER if named else (*_MASTER[2:], "SLURM_STEP_ID")))


def _ordered(pids: Sequence[int], table: Table) -> list[Rank]:
    found = [_rank(pid, table) for pid in dict.fromkeys(pids)]
    return sorted(found, key=lambda rank: (rank.rank is None, rank.rank or 0, rank.pid))


def _rank(pid: int, table: Table) -> Rank:
    environment = table.environment(pid)
    names = next((names for names in _NAMES if names[0] in environment), _NAMES[0])
    rank, world, local_world, local = (_number(environment.get(name)) for name in names)
    return Rank(pid, rank, world, local_world, local, "TORCHELASTIC_RUN_ID" in environment, _job(environment))


def _is_python(pid: int, table: Table) -> bool:
    """Say whether a process runs Python: by its command, or by its file where it has given itself another title."""
    words = table.words(pid)
    if words and any("python" in Path(word).name for word in words[:2]):
        return True
    with contextlib.suppress(OSError):
        return "python" in (PROC / str(pid) / "exe").readlink().name
    return False


def _is_helper(pid: int, table: Table) -> bool:
    first = table.words(pid)[:6]
    if any(Path(word).name in _OWN or word.startswith(COURIER) for word in first):
        return True
    words = " ".join(first)
    return "resource_tracker" in words or "forkserver" in words or "compile_worker" in words


def _has_torch(pid: int) -> bool:
    try:
        with (PROC / str(pid) / "maps").open(encoding="utf-8", errors="replace") as maps:
            return any("libtorch_cpu" in line for line in maps)
    except OSError:
        return False


def _is_mine(pid: int) -> bool:
    return owner_of(pid) == os.getuid()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def state_of(pid: int) -> str:
    """Return the state letter of a process, empty where it is gone."""
    try:
        return stat_of(pid).state
    except NoSuchProcessError:
        return ""


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU time that a process has used in all its threads (fields 14 and 15 of proc(5)'s stat)."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def queued_seconds(pid: int) -> float:
    """Return for how long a process's main thread was ready to run while others had the CPU (Linux, sched-stats)."""
    try:
        with open(f"{PROC}/{pid}/schedstat", "rb") as file:  # noqa: PTH123 - many times a minute
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def written_bytes(pid: int) -> int | None:
    """Return what a process wrote so far to files, terminals and sockets; None where nobody may know."""
    try:
        with (PROC / str(pid) / "io").open("rb") as file:
            return next((int(line[6:]) for line in file if line.startswith(b"wchar:")), None)
    except (OSError, ValueError):
        return None


def share(before: float | None, after: float | None, seconds: float) -> float | None:
    """Return the cores used between two readings."""
    if before is None or after is None or seconds <= 0:
        return None
    return round(max(0.0, after - before) / seconds, 2)
