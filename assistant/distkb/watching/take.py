"""Takes the stacks of all ranks, and the flight recorder's dumps that lie about."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from distkb.evidence.readers.flight_recorder import find_flight_recorder
from distkb.evidence.readers.stacks.group import standings
from distkb.evidence.readers.stacks.model import Dump
from distkb.probing.collect import Collected, Where, collect
from distkb.probing.run import ProbeRun
from distkb.watching.processes import below, directory_of, environment_of

DEADLINE_S = 30.0
_MOST_WORKERS = 32
_RECORDER_NAMES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_RECORDER_PLACES = ("~/.cache/torch", "~/.cache/fr_trace")


def take(pids: Sequence[int], job: str, started: Callable[[ProbeRun], None] | None = None) -> Collected:
    """Take the stacks of these ranks twice, or of all ranks of a Slurm job on every node of it."""
    python = Path(sys.executable)
    taken = collect(Where(job=job), python, recorders=True, deadline_s=DEADLINE_S) if job else None
    if taken is not None and (taken.documents or not pids):
        return taken
    return collect(Where(pids=tuple(pids)), python, recorders=True, deadline_s=DEADLINE_S, started=started)


def take_workers(dumps: Sequence[Dump]) -> list[Dump]:
    """Take the stacks of the processes that load data for ranks which wait for them, on this machine."""
    here = socket.gethostname()
    waiting = [one.dump.pid for one in standings(dumps) if one.place.kind == "dataloader" and one.dump.host == here]
    workers = [(pid, below(pid)[:_MOST_WORKERS]) for pid in waiting if pid is not None]
    pids = [one for pid, found in workers[:_MOST_WORKERS] if found for one in (pid, *found)]
    if not pids:
        return []
    taken = collect(Where(pids=tuple(pids)), Path(sys.executable), snapshots=1, deadline_s=DEADLINE_S)
    return [dump for dump in taken.dumps() if dump.pid not in waiting]


def recorder_dumps(pids: Sequence[int], since: float) -> list[Path]:
    """Return the dumps that the ranks' flight recorders wrote since a moment (time.time)."""
    places: dict[Path, None] = {}
    for pid in pids:
        environment = environment_of(pid)
        directory = directory_of(pid) or Path()
        named = [environment[name] for name in _RECORDER_NAMES if environment.get(name)]
        home = environment.get("HOME", "")
        usual = [place.replace("~", home) for place in _RECORDER_PLACES] if home else []
        for place in (*(Path(directory, name).parent for name in named), *map(Path, usual)):
            places.setdefault(place)
    found = find_flight_recorder([place for place in places if place.is_dir()])
    return [path for path in found if _written(path) >= since]


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return -1.0
