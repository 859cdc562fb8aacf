"""What a log line says about itself before its message: which rank printed it, and when."""

from __future__ import annotations

import re
from datetime import date

import msgspec

SCAN = 160
"""Characters at the start of a line in which rank and time are looked for."""


class Stamp(msgspec.Struct, frozen=True):
    """A time as printed. Zones are ignored: one run's ranks print in one zone."""

    clock: float
    """Seconds since midnight."""
    day: int | None = None
    """Proleptic ordinal of the date; where only month and day are printed, of that day in 1972."""
    dated: bool = False
    """True where the year was printed."""


class Head(msgspec.Struct, frozen=True):
    """The start of a line."""

    rank: int | None = None
    weak: int | None = None
    """A number that is the rank only if the whole file agrees: `3: ` of srun, NCCL's device, `worker3:`."""
    source: str = ""
    """What tells this writer from others where no rank is known: a host or process label."""
    stamp: Stamp | None = None
    own: int | None = None
    """A number that the program itself puts before its messages: `[2] `, `[2/4] `, `rank 2 `; the rank only where all
    lines of a file bear it out."""
    body: int = 0
    """Where the line goes on after tags of launcher and rank; indentation is kept."""


_TAG = re.compile(
    r"(?P<ws>\s*)(?:"
    r"\[(?:prterun[^\]@]*@)?(?P<job>\d{1,9}),\s?(?P<mpi>\d{1,6})\]<std(?:out|err|diag)>: ?"
    r"|\[(?P<name>[A-Za-z][A-Za-z_.-]*?)[ _:=-]?(?P<tagged>\d{1,5})\](?::(?! ?:) ?| )"
    r"|\((?P<actor>[A-Za-z_]\w* pid=\d+(?:, ip=[\w.:]+)?)\)(?: |$)"
    r"|(?P<worker>(?:worker|node|rank|host|proc)[_-]?(?P<wnum>\d{1,5})): "
    r"|(?P<srun>\d{1,5}): "
    r")"
)
_RANK_NAMES = frozenset({"rank", "default", "trainer", "global_rank", "proc", "process", "local_rank", "worker", "gpu"})
_WEAK_NAMES = frozenset({"local_rank", "worker", "gpu", "proc", "process"})
_INNER = re.compile(
    r"[\[(](?:global[_ ]?)?rank[ =:_]{0,2}(\d{1,5})[\]),| ]"
    r"|\b(?:global_)?rank[=:](\d{1,5})\b"
    r"|(?:^|[\s|\]-])rank[ _]?(\d{1,5})(?::| \||\]| -| INFO| WARN| ERROR)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\s+|\d[\d\-/:.,TZ]{7,40}|[\[(](?=[A-Z]{4,}[\])]|\d{4}-|\d\d:)[^\])]{2,60}[\])]|[-|:>]+"
    r"|(?:DEBUG|INFO|WARNING|ERROR)\b:?"
)
"""Time and level before what a line says, one part at a time."""
_OWN = re.compile(
    r"[\[(](\d{1,7})(?: ?/ ?\d{1,5})?[\])]|[\[(]?(?:global[ _]?)?rank[ _=:#]{0,2}(\d{1,5})\b|r(\d{1,4})(?::|\]| \|) ",
    re.IGNORECASE,
)
_NCCL = re.compile(r"^(?:[\d\-:. T]*)([\w.-]+:\d+):\d+ \[(\d{1,9})\] (?:\S+ )?(?:[\d:. -]+ )?NCCL ")

_ISO = re.compile(r"\b(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_GLOG = re.compile(r"(?:^|[\[\s:])[IWEFDV](?:(\d{4}))?(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_US = re.compile(r"\b(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SYSLOG = re.compile(
    r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
)
_CLOCK = re.compile(r"(?:^|[\[\s(])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?=[\]\s):|,-]|$)")
_ANY_CLOCK = re.compile(r"\d:\d\d:\d\d")
_EPOCH = re.compile(r"^\s*\[?(1[4-9]\d{8}|2\d{9})(\.\d{1,9})\b")
_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_NO_YEAR = 1972
"""A leap year, so that 29 February exists."""


def head(text: str) -> Head:
    """Read rank, writer and time from the start of a line."""
    text = text[:SCAN].lstrip("\0")
    rank: int | None = None
    weak: int | None = None
    source = ""
    body = 0
    for _ in range(4):
        tag = _TAG.match(text, body)
        if tag is None:
            break
        strong, hint, label = _tag(tag)
        if strong is None and hint is None and not label:
            break
        rank = strong if strong is not None else rank
        weak = hint if weak is None else weak
        source = source or label
        body = tag.end()
    stamp = find_stamp(text[body:])
    if rank is None:
        rank = _inner_rank(text, body)
    if weak is None and "NCCL" in text and (nccl := _NCCL.match(text[body:])):
        weak, source = int(nccl[2]), source or nccl[1]
    found = _OWN.match(text, lead(text, body)) if rank is None or weak is not None else None
    own = next((int(group) for group in found.groups() if group is not None), None) if found else None
    return Head(rank, weak, source, stamp, own, body)


def lead(text: str, at: int = 0) -> int:
    """Return where the message begins behind time and level."""
    for _ in range(8):
        part = _LEAD.match(text, at)
        if part is None:
            break
        at = part.end()
    return at


def _tag(tag: re.Match[str]) -> tuple[int | None, int | None, str]:  # noqa: PLR0911 - one line for each form
    """Strong rank, weak rank and writer's label of one tag."""
    if tag["mpi"]:
        return int(tag["mpi"]), None, ""
    if tag["tagged"]:
        name = tag["name"].lower().rstrip("_.-")
        if name in _WEAK_NAMES:
            return None, int(tag["tagged"]), name + tag["tagged"]
        if name in _RANK_NAMES or tag[0].rstrip().endswith(":"):
            return int(tag["tagged"]), None, ""
        return None, None, ""
    if tag["actor"]:
        return None, None, tag["actor"]
    if tag["worker"]:
        if tag["worker"].startswith("rank"):
            return int(tag["wnum"]), None, ""
        weak = None if tag["worker"].startswith(("node", "host")) else int(tag["wnum"])
        return None, weak, tag["worker"]
    return None, int(tag["srun"]), ""


def _inner_rank(text: str, body: int) -> int | None:
    """Rank in the way that logging formats print it, a little into the line."""
    lowered = text[body:].lower()
    if "rank" not in lowered:
        return None
    found = _INNER.search(text, body)
    if found is None or found.start() > 100:
        return None
    return int(next(group for group in found.groups() if group is not None))


def find_stamp(text: str) -> Stamp | None:  # noqa: PLR0911 - one line for each format
    """Time printed at the start of a line, in any of the common formats; None where there is none."""
    text = text[:SCAN]
    if _ANY_CLOCK.search(text) is None:
        return _epoch(text)
    if m := _ISO.search(text):
        return _stamp(m[1], m[2], m[3], m[4], m[5], m[6], m[7])
    if m := _GLOG.search(text):
        return _stamp(m[1], m[2], m[3], m[4], m[5], m[6], m[7])
    if m := _US.search(text):
        return _stamp(m[3], m[1], m[2], m[4], m[5], m[6], m[7])
    if m := _SYSLOG.search(text[:60]):
        return _stamp(None, _MONTHS[m[1]], m[2], m[3], m[4], m[5], m[6])
    if m := _CLOCK.search(text[:60]):
        return _stamp(None, None, None, m[1], m[2], m[3], m[4])
    return _epoch(text)


def _stamp(
    year: str | None,
    month: str | int | None,
    day: str | None,
    hour: str,
    minute: str,
    second: str,
    fraction: str | None,
) -> Stamp | None:
    """Build the time; None where the digits are no time."""
    h, m, s = int(hour), int(minute), int(second)
    if h > 23 or m > 59 or s > 60:
        return None
    clock = h * 3600 + m * 60 + s + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
    if month is None or day is None:
        return Stamp(clock)
    try:
        ordinal = date(int(year) if year else _NO_YEAR, int(month), int(day)).toordinal()
    except ValueError:
        return None
    return Stamp(clock, ordinal, bool(year))


def _epoch(text: str) -> Stamp | None:
    """Seconds since 1970 at the very start of a line."""
    m = _EPOCH.match(text)
    if m is None:
        return None
    seconds = float(m[1] + m[2])
    return Stamp(seconds % 86400, _EPOCH_DAY + int(seconds // 86400), dated=True)


def seconds(stamp: Stamp, day: int | None, year: int | None) -> float:
    """One number for a time, on the scale that all times of a run share.

    `day` is taken where no date is printed, `year` where a date has none; seconds since 1970 if the day is known,
    else since midnight.
    """
    ordinal = stamp.day if stamp.day is not None else day
    if ordinal is None:
        return stamp.clock
    if stamp.day is not None and not stamp.dated and year is not None:
        printed = date.fromordinal(stamp.day)
        try:
            ordinal = printed.replace(year=year).toordinal()
        except ValueError:  # 29 February of a year that has none
            ordinal = date(year, 3, 1).toordinal()
    return (ordinal - _EPOCH_DAY) * 86400 + stamp.clock
