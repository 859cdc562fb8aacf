"""Tells the runs apart whose logs lie in one folder: torchrun's run folders, and the outputs of a scheduler's jobs."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import RunState
from distkb.evidence.text.lines import head, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.scanner.scan import FileScan

_RUN_FOLDER = re.compile(r"^(?P<id>.+)_[a-z0-9_]{8}$")
"""torchrun makes `{run id}_{random}` below `--log-dir`."""
_OWN_ID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""A run id that `--standalone` draws: no two launches share it."""
_JOB = re.compile(r"^(?P<name>\D.*?)[._-](?P<job>\d{2,12})(?:_\d+)?\.(?:out|err)$")
"""Slurm's `slurm-%j.out` and what people make of it: `%x-%j.out`, `train_%A_%a.err`."""
_ONE_SITTING = 6 * 3600.0
"""Times without a date are put in order where all of them lie within this many seconds."""
_LOOKED_AT = 80
"""Lines at either end in which a time is looked for."""


class _Launch(msgspec.Struct, kw_only=True):
    name: str
    scans: list[FileScan]
    start: float = 0.0
    end: float = 0.0
    """First and last time that its lines say."""
    sure: bool = False
    """Whether its name says that it is a run of its own."""


def newest(scans: Sequence[FileScan]) -> tuple[tuple[FileScan, ...], tuple[RunState, ...]]:
    """Return the files of the newest run, with those of no run that is known, and all runs in order of time.

    Files count as of several runs where their names say so and their times do not overlap. Everything is of one run,
    and no run is listed, where that is not sure.
    """
    launches = _launches(scans)
    if len(launches) < 2:
        return tuple(scans), ()
    if not (_timed(launches, dated=True) or _timed(launches, dated=False)):
        return tuple(scans), ()
    launches.sort(key=lambda launch: (launch.end, launch.start))
    joined = _joined(launches)
    if len(joined) < 2:
        return tuple(scans), ()
    old = {id(scan) for launch in joined[:-1] for scan in launch.scans}
    kept = tuple(scan for scan in scans if id(scan) not in old)
    runs = tuple(
        RunState(name=one.name, files=len(one.scans), start=one.start, end=one.end, diagnosed=one is joined[-1])
        for one in joined
    )
    return kept, runs


def _launches(scans: Iterable[FileScan]) -> list[_Launch]:
    found: dict[tuple[str, str], _Launch] = {}
    for scan in scans:
        file = scan.file
        path = PurePath(file.name)
        if file.attempt is not None:
            folder = PurePath(file.group)
            shape = _RUN_FOLDER.match(folder.name)
            if shape is None:
                continue
            key, name, sure = (str(folder.parent), folder.name), file.group, bool(_OWN_ID.match(shape["id"]))
        else:
            job = _JOB.match(path.name)
            if job is None:
                continue
            key, sure = (str(path.parent), f"{job['name']} {job['job']}"), False
            name = str(path.parent / f"{job['name']}-{job['job']}")
        found.setdefault(key, _Launch(name=name, scans=[], sure=sure)).scans.append(scan)
    return list(found.values())


def _joined(launches: Sequence[_Launch]) -> list[_Launch]:
    """Put launches together that may be parts of one run: their times overlap, and no name says otherwise."""
    joined = [launches[0]]
    for before, launch in pairwise(launches):
        last = joined[-1]
        if launch.start > last.end or (launch.sure and before.sure):
            joined.append(launch)
        else:
            both = [*last.scans, *launch.scans]
            start = min(last.start, launch.start)
            joined[-1] = _Launch(name=last.name, scans=both, start=start, end=launch.end, sure=last.sure)
    return joined


def _timed(launches: Sequence[_Launch], *, dated: bool) -> bool:
    """Set the first and last time of each launch; False where one says none, or times of day are too far apart."""
    for launch in launches:
        times = [time for scan in launch.scans for time in _ends(scan, dated=dated)]
        if not times:
            return False
        launch.start, launch.end = min(times), max(times)
    span = max(launch.end for launch in launches) - min(launch.start for launch in launches)
    return dated or span < _ONE_SITTING


def _ends(scan: FileScan, *, dated: bool) -> list[float]:
    """The first and the last time that a file's lines say, with a date or without."""
    found: list[float] = []
    for lines in (scan.start.splitlines()[:_LOOKED_AT], reversed(scan.end.splitlines()[-_LOOKED_AT:])):
        stamps = (head(line).stamp for line in lines)
        stamp = next((stamp for stamp in stamps if stamp is not None and stamp.dated is dated), None)
        if stamp is not None:
            found.append(seconds(stamp, None, None))
    return found
