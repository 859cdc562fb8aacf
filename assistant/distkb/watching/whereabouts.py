"""Where the files lie that a probe reads: beside a job that runs here, beside what was read, or in this folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Final, NamedTuple

from distkb.evidence.readers.configs import find_configs, find_launches
from distkb.evidence.readers.flight_recorder import find_flight_recorder
from distkb.evidence.readers.scripts import find_scripts
from distkb.evidence.readers.traces import find_traces
from distkb.watching.look import RECENT_S, LocalJob, may_be_of
from distkb.watching.processes import directory_of, script_of
from distkb.watching.take import recorder_dumps

MOST = 40
"""So many files are offered at most: more are not one job's."""


class ProbeFiles(NamedTuple):
    """Files for a probe, and the job beside which they lie; empty where it is none."""

    paths: tuple[Path, ...] = ()
    job: str = ""


def look_for(probe: str, jobs: Iterable[LocalJob], read: Sequence[Path], here: Path) -> ProbeFiles:
    """Return the files for a probe: those of a job that runs, else beside what was read (and not in it), else here."""
    find = _FINDERS[probe]
    for job in (job for job in jobs if may_be_of(job, read)):
        if found := _of_job(probe, job, find):
            return ProbeFiles(_new(found, read), job.name)
    everybodys = (Path.home(), Path(here.anchor), Path(gettempdir()))
    for folder in dict.fromkeys((*(path.absolute().parent for path in read), here)):
        if folder not in everybodys and folder.is_dir():
            new = _new(find([folder]), read)
            if 0 < len(new) <= MOST:
                return ProbeFiles(new)
    return ProbeFiles()


def _of_job(probe: str, job: LocalJob, find: Callable[[Sequence[Path]], list[Path]]) -> list[Path]:
    if probe == "flight-recorder":
        return recorder_dumps(job.pids, time.time() - RECENT_S)
    scripts = [script for pid in job.pids[:1] if (script := script_of(pid)) is not None]
    if probe == "script":
        return scripts
    folders = dict.fromkeys((*(script.parent for script in scripts), *map(directory_of, job.pids[:1])))
    found = find([folder for folder in folders if folder is not None and folder != Path.home()])
    return found if len(found) <= MOST else []


def _new(found: Iterable[Path], read: Sequence[Path]) -> tuple[Path, ...]:
    """Leave out what was read already."""
    known = [path.absolute() for path in read]
    return tuple(path for path in found if not any(path.absolute().is_relative_to(one) for one in known))


_FINDERS: Final = {
    "flight-recorder": find_flight_recorder,
    "trace": find_traces,
    "fsdp": find_configs,
    "launch": find_launches,
    "script": find_scripts,
}
"""For each probe that reads files: which files are of its kind."""
