"""Finds the processes of a whole launch from one of them: its ranks, and the launcher above them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from distkb_probes.environment.processes import (
    HiddenProcessError,
    NoSuchProcessError,
    Stat,
    all_stats,
    environment_of,
    words_of,
)

_CONTRACT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_LAUNCHER = re.compile(
    r"(?:^|/)(?:torchrun|accelerate|deepspeed|mpirun|mpiexec(?:\.hydra)?|orterun|prterun|srun|slurmstepd|hydra_pmi_proxy|orted)(?::|\s|$)"
    r"|torch\.distributed\.(?:run|launch)|accelerate\.commands\.|deepspeed\.launcher\."
)
_WRAPPER = re.compile(
    r"(?:^|/)(?:ba|da|z|k)?sh$|(?:^|/)(?:numactl|taskset|nice|time|env|timeout|stdbuf|nsys|ncu|py-spy)$"
)
_DEEPEST = 64


@dataclass(frozen=True)
class Launch:
    """The processes of one launch on this machine."""

    ranks: tuple[int, ...]
    launchers: tuple[int, ...]
    """Processes above the ranks that started them: torchrun's agent, `accelerate launch`, a script."""
    hidden: tuple[int, ...]
    """Processes that may not be looked into."""


class Table:
    """All processes of this machine at one moment, with the environments that were asked for."""

    def __init__(
        self,
        stats: Mapping[int, Stat] | None = None,
        environment: Callable[[int], dict[str, str]] = environment_of,
        words: Callable[[int], list[str]] = words_of,
    ) -> None:
        self.stats = dict(all_stats() if stats is None else stats)
        self.hidden: set[int] = set()
        self._environment = environment
        self._words = words
        self._known: dict[int, dict[str, str]] = {}
        self._below: dict[int, list[int]] = {}
        for pid, stat in sorted(self.stats.items()):
            self._below.setdefault(stat.parent, []).append(pid)

    def environment(self, pid: int) -> dict[str, str]:
        """Return a process's environment, empty where it is gone or hidden (those are noted in `hidden`)."""
        if pid not in self._known:
            self._known[pid] = {}
            try:
                self._known[pid] = self._environment(pid)
            except HiddenProcessError:
                self.hidden.add(pid)
            except NoSuchProcessError:
                pass
        return self._known[pid]

    def words(self, pid: int) -> list[str]:
        """Return a process's command line."""
        return self._words(pid)

    def parent(self, pid: int) -> int:
        """Return the parent's pid, 0 above the top."""
        return self.stats[pid].parent if pid in self.stats else 0

    def ancestors(self, pid: int) -> list[int]:
        """Return the pids above a process, nearest first, without the first process of the machine."""
        found: list[int] = []
        above = self.parent(pid)
        while above > 1 and above not in found and len(found) < _DEEPEST:
            found.append(above)
            above = self.parent(above)
        return found

    def children(self, pid: int) -> list[int]:
        """Return the direct children of a process."""
        return self._below.get(pid, [])

    def below(self, pid: int) -> list[int]:
        """Return all pids below a process, parents first."""
        found: list[int] = []
        queue = [pid]
        while queue:
            children = self.children(queue.pop())
            found += children
            queue += children
        return found


def find_launch(pids: Sequence[int], table: Table) -> Launch:
    """Find the launch that these processes belong to. Raises NoSuchProcessError with the pid that is not there.

    Several pids name the ranks themselves, each taken as it is; one pid may be a rank, a process below one (a
    DataLoader worker) or the launcher above them.
    """
    for pid in pids:
        if pid not in table.stats:
            raise NoSuchProcessError(pid)
    ranks: list[int] = []
    for pid in dict.fromkeys(pids):
        ranks += _ranks_from(pid, table) if len(set(pids)) == 1 else _ranks_below(pid, table) or [pid]
    # Lightning's first process is a rank as well; it started the others and has none of the variables.
    first = [table.parent(rank) for rank in ranks if _by_lightning(table.environment(rank))]
    ranks = list(dict.fromkeys((*(pid for pid in first if not is_launcher(table.words(pid))), *ranks)))
    return Launch(
        ranks=tuple(sorted(ranks, key=lambda pid: (_order(table.environment(pid)), pid))),
        launchers=tuple(_launchers(ranks, table)),
        hidden=tuple(sorted(table.hidden & {*pids, *ranks})),
    )


def _ranks_from(pid: int, table: Table) -> list[int]:
    if not _identity(pid, table):
        return _ranks_below(pid, table) or [pid]
    top = _top(pid, table)
    for above in table.ancestors(top):
        found = [rank for rank in _ranks_below(above, table) if rank != os.getpid()]
        if is_launcher(table.words(above)) or _by_lightning(table.environment(pid)):
            return found
        found = _together_with(pid, above, found, table)
        if len(found) > 1:
            return found
        if not _same_user(above, pid, table):
            break
    return _same_launch(pid, table) or [_inner(top, table)]


def _together_with(pid: int, above: int, found: Sequence[int], table: Table) -> list[int]:
    """Keep those of the ranks below a shell that can be of one launch with `pid`, which no launcher started.

    Others may have been started from the same shell, terminal or service. A rank whose master differs is kept as long
    as nobody else has its number: that the ranks name different masters may be what is wrong with the launch.
    """
    mine = table.environment(pid)
    between = (above, *table.ancestors(above))
    kept = [
        rank
        for rank in found
        if table.environment(rank).get("WORLD_SIZE") == mine.get("WORLD_SIZE")
        and not any(is_launcher(table.words(one)) for one in table.ancestors(rank) if one not in between)
    ]
    numbers = [table.environment(rank).get("RANK") for rank in kept]
    if len(set(numbers)) == len(numbers):
        return kept
    return [rank for rank in kept if _master(table.environment(rank)) == _master(mine)]


def _master(environment: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(environment.get(name) for name in ("MASTER_ADDR", "MASTER_PORT"))


def _same_launch(pid: int, table: Table) -> list[int]:
    """Return the ranks anywhere on the machine that name the same master: a launch typed by hand in several shells."""
    where = _master(table.environment(pid))
    return [
        _inner(other, table)
        for other in sorted(table.stats)
        if _is_top(other, table) and _master(table.environment(other)) == where
    ]


def _ranks_below(pid: int, table: Table) -> list[int]:
    """Return the uppermost processes at or below `pid` that have a RANK of their own."""
    return [_inner(below, table) for below in (pid, *table.below(pid)) if _is_top(below, table)]


def _identity(pid: int, table: Table) -> tuple[str | None, ...] | None:
    """Return what makes a process one rank of one launch; None for a process without RANK.

    Lightning's own launcher sets no RANK: for its processes LOCAL_RANK and NODE_RANK have to do.
    """
    environment = table.environment(pid)
    if "RANK" not in environment and not _by_lightning(environment):
        return None
    return tuple(environment.get(name) for name in (*_CONTRACT, "LOCAL_RANK"))


def _by_lightning(environment: Mapping[str, str]) -> bool:
    return "RANK" not in environment and all(n in environment for n in ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE"))


def _is_top(pid: int, table: Table) -> bool:
    """Say whether a process is a rank and not merely a child of one, such as a DataLoader worker."""
    mine = _identity(pid, table)
    return mine is not None and _identity(table.parent(pid), table) != mine


def _top(pid: int, table: Table) -> int:
    while _identity(table.parent(pid), table) == _identity(pid, table):
        pid = table.parent(pid)
    return pid


def _inner(pid: int, table: Table) -> int:
    """Step from a wrapper (`bash -c`, `numactl`) to the one process in it that trains."""
    for _ in range(_DEEPEST):
        words = table.words(pid)
        below = [child for child in table.children(pid) if _identity(child, table) == _identity(pid, table)]
        if not words or _WRAPPER.search(words[0]) is None or len(below) != 1:
            break
        pid = below[0]
    return pid


def is_launcher(words: Sequence[str]) -> bool:
    """Say whether a command line is that of a program that starts ranks."""
    return any(_LAUNCHER.search(word) is not None for word in words[:4])


def _launchers(ranks: Sequence[int], table: Table) -> list[int]:
    found: list[int] = []
    for rank in ranks:
        above = table.ancestors(rank)
        last = max((place for place, pid in enumerate(above) if is_launcher(table.words(pid))), default=-1)
        found += [pid for pid in (above[: last + 1] or above[:1]) if pid not in found and pid not in ranks]
    return found


def _same_user(one: int, other: int, table: Table) -> bool:
    try:
        return Path(f"/proc/{one}").stat().st_uid == Path(f"/proc/{other}").stat().st_uid
    except OSError:
        return table.stats.get(one) is None


def _order(environment: Mapping[str, str]) -> int:
    text = environment.get("RANK", environment.get("LOCAL_RANK", "")).strip()
    return int(text) if text.isdecimal() else 1 << 30
