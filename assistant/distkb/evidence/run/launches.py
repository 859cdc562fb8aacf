"""Tells the runs apart whose logs lie in one folder: by torchrun's run folders, the outputs of jobs, and times."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.inventory import without_rank
from distkb.evidence.observation import RunState
from distkb.evidence.text.lines import head, lead, may_be_stamped, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from distkb.evidence.scanner.scan import FileScan

_RUN_FOLDER = re.compile(r"^(?P<id>.+)_[a-z0-9_]{8}$")
"""torchrun makes `{run id}_{random}` below `--log-dir`."""
_OWN_ID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""A run id that `--standalone` draws: no two launches share it."""
_JOB = re.compile(r"^(?P<name>\D.*?)[._-](?P<job>\d{2,12})(?:_\d+)?\.(?:out|err)$")
"""Slurm's `slurm-%j.out` and what people make of it: `%x-%j.out`, `train_%A_%a.err`."""
_ONE_SITTING = 6 * 3600.0
"""Times without a date are put in order where all of them lie within this many seconds."""
DIGITS = re.compile(r"\d+")
_PAUSE = 3.0
"""Seconds that a run which comes after another takes at least to print its first line; many times are whole seconds."""
_ONE_START = 120.0
"""Seconds within which the parts of one run print their first lines behind the last of another part."""
_OPENING = 2
"""Lines that tell whether two runs begin alike."""
BEGINNING, WORDS, _LETTERS = 200, 4, 6
"""Characters of a line, of which so many words tell it from others, and the letters that these hold at the least."""
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
    id: str = ""
    """What its name says of which run it is: torchrun's id of the user's, or the job's number."""


def newest(scans: Sequence[FileScan]) -> tuple[tuple[FileScan, ...], tuple[RunState, ...]]:
    """Return the files of the newest run, with those of no run that is known, and all runs in order of time.

    Files count as of several runs where their times do not overlap, and their names say so or the same ranks speak
    before and after. Everything is of one run, and no run is listed, where that is not sure.
    """
    launches = _launches(scans)
    if len(launches) < 2:
        launches = _folders(scans) or _names(scans) or launches
    if len(launches) < 2:
        launches = _one_after_another(scans, launches)
    if len(launches) < 2:
        return tuple(scans), ()
    if not (_timed(launches, dated=True) or _timed(launches, dated=False)):
        return tuple(scans), ()
    apart = all(launch.sure for launch in launches)  # then a run may end before an older one
    launches.sort(key=lambda launch: (launch.start, launch.end) if apart else (launch.end, launch.start))
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
            own = "" if sure or shape["id"] == "none" else shape["id"]
        else:
            job = _JOB.match(path.name)
            if job is None:
                continue
            key, sure = (str(path.parent), f"{job['name']} {job['job']}"), False
            name, own = str(path.parent / f"{job['name']}-{job['job']}"), job["job"]
        found.setdefault(key, _Launch(name=name, scans=[], sure=sure, id=own)).scans.append(scan)
    return list(found.values())


def _folders(scans: Sequence[FileScan]) -> list[_Launch]:
    """Folders beside one another that hold files of the same names, in which the same ranks speak: one for each start.

    Those of one run's nodes hold them too, and their times overlap.
    """
    found: dict[PurePath, _Launch] = {}
    for scan in scans:
        folder = PurePath(scan.file.name).parent
        found.setdefault(folder, _Launch(name=str(folder), scans=[])).scans.append(scan)
    names = [{PurePath(scan.file.name).name for scan in launch.scans} for launch in found.values()]
    beside = len(found) > len({folder.parent for folder in found}) == 1 and all(
        scan.file.attempt is None for scan in scans
    )
    return list(found.values()) if beside and all(one & other for one, other in pairwise(names)) else []


def _names(scans: Sequence[FileScan]) -> list[_Launch]:
    """Files whose names are the same but for the number of the rank, where another such set has the same ranks.

    Each is a run of its own, also where one goes on beside the other: they begin alike, and not at the same time, as
    a rank's output and its errors, or two kinds of its output, would.
    """
    found: dict[str, _Launch] = {}
    for scan in scans:
        if scan.file.rank is None or scan.file.local or scan.file.attempt is not None:
            continue
        name = without_rank(scan.file.name)
        found.setdefault(name, _Launch(name=name, scans=[], sure=True)).scans.append(scan)
    launches = list(found.values())
    ranks = [{scan.file.rank for scan in launch.scans} for launch in launches]
    if len(launches) < 2 or not all(one & other for one, other in pairwise(ranks)):
        return []
    if not (_timed(launches, dated=True) or _timed(launches, dated=False)):
        return []
    launches.sort(key=lambda launch: launch.start)
    begun = [{words for scan in launch.scans for words in _openings(scan)} for launch in launches]
    apart = all(before.start + _PAUSE < after.start for before, after in pairwise(launches))
    return launches if apart and all(one & other for one, other in pairwise(begun)) else []


def _one_after_another(scans: Iterable[FileScan], named: Sequence[_Launch]) -> list[_Launch]:
    """Files whose times lie behind one another, in which the same ranks speak and which begin alike: separate runs.

    What only goes on in another file, as errors do in one of their own, begins with something else. Files that belong
    together by their names stay together.
    """
    together = {id(scan): launch.scans for launch in named for scan in launch.scans}
    parts = {id(part): part for part in (together.get(id(scan), [scan]) for scan in scans)}
    timed = [
        (min(times), max(times), part)
        for part in parts.values()
        if (times := [time for scan in part for time in _ends(scan, dated=True)])
    ]
    found: list[_Launch] = []
    for start, end, part in sorted(timed, key=lambda one: one[:2]):
        if found and start <= found[-1].end + _PAUSE:
            found[-1].scans.extend(part)
            found[-1].end = max(found[-1].end, end)
        else:
            found.append(_Launch(name=part[0].file.name, scans=list(part), start=start, end=end))
    if len(found) < 2:
        return []
    spoken = [{rank for scan in launch.scans for rank in ranks_of(scan)} for launch in found]
    begun = [{words for scan in launch.scans for words in _openings(scan)} for launch in found]
    speak = all(before & after for before, after in pairwise(spoken))
    return found if speak and all(before & after for before, after in pairwise(begun)) else []


def _openings(scan: FileScan) -> Iterator[str]:
    """How the very first lines with a time begin, without their numbers: what goes on begins with a later line."""
    stamped = (line for line in _first(scan) if head(line).stamp is not None)
    return filter(None, map(beginning, islice(stamped, _OPENING)))


def beginning(line: str) -> str:
    """Return how a line begins behind rank and time, without its numbers; empty where that tells it from no other."""
    words = DIGITS.sub("#", line[lead(line, head(line).body) :][:BEGINNING]).split()
    enough = next((n for n in range(WORDS, len(words) + 1) if _tells(words[:n])), len(words))
    return " ".join(words[:enough]) if _tells(words[:enough]) else ""


def _tells(words: Sequence[str]) -> bool:
    return sum(character.isalpha() for word in words for character in word) >= _LETTERS


def ranks_of(scan: FileScan) -> Iterator[int]:
    """Yield the ranks of which a file's name or lines speak; a local rank may be of any machine."""
    if scan.file.rank is not None and not scan.file.local:
        yield scan.file.rank
    for line in (*_first(scan), *_last(scan)):
        rank = head(line).rank
        if rank is not None:
            yield rank


def _joined(launches: Sequence[_Launch]) -> list[_Launch]:
    """Put launches together that may be parts of one run: their times overlap, and no name says otherwise."""
    joined = [launches[0]]
    for before, launch in pairwise(launches):
        last = joined[-1]
        late = launch.start > last.end and not _may_be_one(last, launch)
        if late or (launch.sure and before.sure):
            joined.append(launch)
        else:
            both = [*last.scans, *launch.scans]
            start = min(last.start, launch.start)
            end = max(last.end, launch.end)
            joined[-1] = _Launch(name=last.name, scans=both, start=start, end=end, sure=last.sure, id=last.id)
    return joined


def _may_be_one(one: _Launch, other: _Launch) -> bool:
    """Whether other ranks speak in each, at about one time, as on the nodes of one run and in its launcher's output."""
    mine, theirs = ({rank for scan in launch.scans for rank in ranks_of(scan)} for launch in (one, other))
    named = {launch.id for launch in (one, other)} - {""}
    return len(named) < 2 and other.start - one.end < _ONE_START and bool(mine or theirs) and not mine & theirs


def _timed(launches: Sequence[_Launch], *, dated: bool) -> bool:
    """Set the first and last time of each launch; False where one says none, or times of day are too far apart."""
    for launch in launches:
        times = [time for scan in launch.scans for time in _ends(scan, dated=dated)]
        if not times:
            return False
        launch.start, launch.end = min(times), max(times)
    span = max(launch.end for launch in launches) - min(launch.start for launch in launches)
    return dated or span < _ONE_SITTING


def span(scan: FileScan, *, dated: bool) -> tuple[float, float] | None:
    """Return the first and the last time that a file's lines say, with a date or without; None where they say none."""
    times = _ends(scan, dated=dated)
    return (times[0], times[-1]) if times else None


def _ends(scan: FileScan, *, dated: bool) -> list[float]:
    """The first and the last time that a file's lines say, with a date or without."""
    count = len(scan.last)
    first = (scan.first, range(min(len(scan.first), _LOOKED_AT)))
    last = (scan.last, range(count - 1, max(0, count - _LOOKED_AT) - 1, -1))
    found: list[float] = []
    for kept, places in (first, last):
        may = (
            kept.line(index) for index in places if kept.shapes[index].once(_may_be_dated if dated else may_be_stamped)
        )
        stamp = next((stamp for line in may if (stamp := head(line).stamp) is not None and stamp.dated is dated), None)
        if stamp is not None:
            found.append(seconds(stamp, None, None) if dated else stamp.clock)
    return found


def _may_be_dated(text: str) -> bool:
    """Whether lines of a shape may show a date: of ones there is such a day, of twos such a number of seconds."""
    stamps = [head(text.replace("0", digit)).stamp for digit in "12"]
    return any(stamp is not None and stamp.dated for stamp in stamps)


def _first(scan: FileScan) -> Iterator[str]:
    """The first lines of a file."""
    return map(scan.first.line, range(min(len(scan.first), _LOOKED_AT)))


def _last(scan: FileScan) -> Iterator[str]:
    """The last lines of a file, the very last one first."""
    count = len(scan.last)
    return map(scan.last.line, range(count - 1, max(0, count - _LOOKED_AT) - 1, -1))
