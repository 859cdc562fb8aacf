"""What a log line says about itself before its message: which rank printed it, and when."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

import msgspec

SCAN = 160
"""Characters at the start of a line in which rank and time are looked for."""
_JSON = 600
"""And of a line that is an object in JSON, whose fields may be in any order."""
SHORTEST_START = 5
"""Characters of a line up to its rank that are hardly met within what another line says."""


Span = tuple[int, int]
"""Start and end of a part of a line."""


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
    """A number that the program itself puts before its messages: `[2] `, `[2/4] `, `rank 2 `, `[x:2] `; the rank only
    where all lines of a file bear it out."""
    body: int = 0
    """Where the line goes on after tags of launcher and rank; indentation is kept."""


_TAG = re.compile(
    r"(?P<ws>\s*)(?:"
    r"\[(?:prterun[^\]@]*@)?(?P<job>\d{1,9}),\s?(?P<mpi>\d{1,6})\]<std(?:out|err|diag)>: ?"
    r"|\[(?P<name>[A-Za-z][A-Za-z_.-]*?)[ _:=-]?(?P<tagged>\d{1,5})\](?::(?! ?:) ?| )"
    r"|\((?P<actor>[A-Za-z_][\w-]*,? pid=\d+(?:, ip=[\w.:]+)?)\)(?: |$)"
    r"|\((?P<sky>(?:head|worker\d{1,5}), rank=(?P<snum>\d{1,5}), pid=\d+(?:, ip=[\w.:]+)?)\)(?: |$)"
    r"|\[pod/(?P<pod>[\w.-]+/[\w.-]+)\](?: |$)"
    r"|(?P<stern>[a-z][a-z0-9-]{0,62}-(?:(?:master|worker)-\d{1,5}(?: \u203a)? pytorch"
    r"|\d{1,5}-(?=\d*[a-z])[b-df-hj-np-tv-z0-9]{5}(?: \u203a)? [a-z][a-z0-9-]*))(?: |$)"
    r"|(?P<replica>[A-Za-z][\w.-]{0,62}/\d{1,5}) (?=\[[A-Za-z_]*\d{1,5}\]:)"
    r"|(?P<role>(?:[\w.-]{1,40}/)?(?:trainer|worker)/\d{1,5}) "
    r"|(?P<compose>[a-z][\w.-]{0,40}-\d{1,4}) {1,20}\| "
    r"|(?P<address>ip(?:-\d{1,3}){4}[\w.-]*|\d{1,3}(?:\.\d{1,3}){3}): "
    r"|(?P<worker>(?:worker|node|rank|host|proc)[_-]?(?P<wnum>\d{1,5})): "
    r"|(?P<srun>\d{1,5}): "
    r")"
)
"""Tags of launchers: mpirun, torchrun, Ray, SkyPilot (its rank is the node's), `kubectl logs --prefix`, stern (pods of
a PyTorchJob, or with the five letters that Kubernetes appends), torchx before torchrun's own tag or with a role's usual
name, Docker Compose, pdsh by address or by name, `srun --label`."""
_RANK_NAMES = frozenset({"rank", "default", "trainer", "global_rank", "proc", "process", "local_rank", "worker", "gpu"})
_WEAK_NAMES = frozenset({"local_rank", "worker", "gpu", "proc", "process"})
_INNER = re.compile(
    r"[\[(](?:[a-z]{1,12}[ _-]?\d{1,4}[ ,/]{1,2})?(?:global[_ ]?)?rank[ =:_]{0,2}(\d{1,5})(?:[\]),| ]|/\d{1,5}\])"
    r"|\b(?:global_)?rank[=:](\d{1,5})\b"
    r"|(?:^|[\s|\]-])rank[ _]?(\d{1,5})(?::| \||\]| -| INFO| WARN| ERROR)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"['\"](?:global_?)?rank['\"] ?: ?(\d{1,5})(?=[,} ])", re.IGNORECASE)
"""A rank as JSON has it."""
_LEAD = re.compile(
    r"\s+|\d[\d\-/:.,TZ]{7,40}|[\[(](?=[A-Z]{4,}[\])]|\d{4}-|\d\d:)[^\])]{2,60}[\])]|[-|:>]+"
    r"|(?:DEBUG|INFO|WARNING|ERROR)\b:?"
)
"""Time and level before what a line says, one part at a time."""
LABELLED = (
    r"[\[(<{](?!(?:epoch|step|iter|batch|ep|it|fold|stage|phase|layer|block|round|trial|run|seed|try|attempt|pid)"
    r"\w{0,8}[ _:=#-]?\d)(?:[a-z][\w.-]{0,15} (?=(?:rank|worker|proc|node|gpu|r|w|p)[ _:=#-]?\d))?"
    r"[a-z][a-z_.-]{0,24}[ _:=#-]?(\d{1,4})(?:/\d{1,4})?"
    r"(?: [^\])>}\d]{0,8}[\d.:]{1,12} ?m?s?)?[\])>}]"
)
"""A word with a number in brackets, as programs mark their ranks: `[tiles:2]`, `(w3)`, `[vm r2]`, `[gpu0 +10.1s]`;
words that count are none."""
_OWN = re.compile(
    r"[\[(<{](\d{1,7})(?: ?/ ?\d{1,5})?[\])>}]|(?:[a-z][\w.-]{1,24} )?[\[(]?(?:global[ _]?)?rank[ _=:#]{0,2}(\d{1,5})\b"
    r"|(?:(?-i:[rpw])|gpu|proc(?:ess)?[ _#]?|worker[ _#]?|device[ _#]?|cuda:)(\d{1,4})(?::|\]| \||/\d{1,4})? |"
    r"[a-z][a-z_.-]{1,24}\[(\d{1,3})\]:? |" + LABELLED,
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
_EPOCH_PLACE = re.compile(r"^\s*\[?\d{10}\.\d")
_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
_ALIKE = str.maketrans("123456789", "000000000")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_NO_YEAR = 1972
"""A leap year, so that 29 February exists."""


class LineLayout(msgspec.Struct, frozen=True):
    """Where the start of a line says what. It does not hang on which digits stand there, only on where."""

    rank: Span | None
    weak: Span | None
    label: str
    """Beginning of the writer's label."""
    named: Span | None
    """The rest of the label."""
    own: Span | None
    body: int


def head(text: str) -> Head:
    """Read rank, writer and time from the start of a line."""
    text = _start(text)
    found = _layout(text.translate(_ALIKE)) if text.isascii() else layout(text)
    return Head(
        _number(text, found.rank),
        _number(text, found.weak),
        source_of(text, found),
        find_stamp(text[found.body :]),
        _number(text, found.own),
        found.body,
    )


def _start(text: str) -> str:
    return text[: _JSON if text.startswith("{") else SCAN].lstrip("\0")


@lru_cache(maxsize=4096)
def _layout(text: str) -> LineLayout:
    return layout(text)


def _number(text: str, span: Span | None) -> int | None:
    return None if span is None else int(text[span[0] : span[1]])


def source_of(text: str, found: LineLayout) -> str:
    """Return the label of the writer; empty where there is none."""
    return found.label + (text[found.named[0] : found.named[1]] if found.named is not None else "")


def layout(text: str) -> LineLayout:
    """Find rank and writer at the start of a line."""
    text = _start(text)
    rank: Span | None = None
    weak: Span | None = None
    label = ""
    named: Span | None = None
    body = 0
    for _ in range(4):
        tag = _TAG.match(text, body)
        if tag is None:
            break
        strong, hint, name, rest = _tag(tag)
        if strong is None and hint is None and rest is None:
            break
        rank = strong if strong is not None else rank
        weak = hint if weak is None else weak
        if named is None:
            label, named = name, rest
        body = tag.end()
    if rank is None:
        rank = _inner_rank(text, body)
    if weak is None and "NCCL" in text and (nccl := _NCCL.match(text[body:])):
        weak = nccl.start(2) + body, nccl.end(2) + body
        if named is None:
            named = nccl.start(1) + body, nccl.end(1) + body
    found = _OWN.match(text, lead(text, body)) if rank is None or weak is not None else None
    own = next((found.span(group) for group in range(1, 6) if found[group] is not None), None) if found else None
    return LineLayout(rank, weak, label, named, own, body)


def lead(text: str, at: int = 0) -> int:
    """Return where the message begins behind time and level."""
    for _ in range(8):
        part = _LEAD.match(text, at)
        if part is None:
            break
        at = part.end()
    return at


def parts(text: str) -> list[int]:
    """Return where each part of a line begins that starts as the line itself does, up to the rank; mostly 0 alone.

    Where Python does not buffer, a text and the end of its line are written one after the other, and another rank's
    text may come between them: `[rank0] step 2[rank1] step 2`. Digits make no difference.
    """
    found = layout(text)
    rank = found.rank or found.own
    if rank is None:
        return [0]
    first = found.body if rank[0] >= found.body else 0
    if rank[1] - first < SHORTEST_START:
        return [0]
    stop = rank[1] + (text[rank[1] : rank[1] + 1] in set("]):|"))
    before, behind = re.escape(text[first : rank[0]]), re.escape(text[rank[1] : stop])
    start = re.compile(re.sub(r"\d", r"\\d", before) + r"\d{1,5}" + behind)
    begins = [0]
    for found_start in start.finditer(text, stop):
        if text[found_start.start() - 1] in " \t([<\"'`=:,|":  # named in a sentence
            break
        begins.append(found_start.start())
    return begins


def _tag(tag: re.Match[str]) -> tuple[Span | None, Span | None, str, Span | None]:  # noqa: PLR0911 - one line for each form
    """Strong rank, weak rank and writer's label of one tag."""
    if tag["mpi"]:
        return tag.span("mpi"), None, "", None
    if tag["tagged"]:
        name = tag["name"].lower().rstrip("_.-")
        if name in _WEAK_NAMES:
            return None, tag.span("tagged"), name, tag.span("tagged")
        if name in _RANK_NAMES or tag[0].rstrip().endswith(":"):
            return tag.span("tagged"), None, "", None
        return None, None, "", None
    if tag["sky"]:
        return None, tag.span("snum"), "", tag.span("sky")
    for form in ("actor", "pod", "stern", "replica", "role", "compose", "address"):
        if tag[form]:
            return None, None, "", tag.span(form)
    if tag["worker"]:
        if tag["worker"].startswith("rank"):
            return tag.span("wnum"), None, "", None
        weak = None if tag["worker"].startswith(("node", "host")) else tag.span("wnum")
        return None, weak, "", tag.span("worker")
    return None, tag.span("srun"), "", None


def _inner_rank(text: str, body: int) -> Span | None:
    """Rank in the way that logging formats print it, a little into the line."""
    lowered = text[body:].lower()
    if "rank" not in lowered:
        return None
    if text.startswith("{"):
        field = _FIELD.search(text)
        return field.span(1) if field is not None else None
    found = _INNER.search(text, body)
    if found is None or found.start() > 100:
        return None
    return next(found.span(group) for group in (1, 2, 3) if found[group] is not None)


def may_be_stamped(text: str) -> bool:
    """Whether a line of these digits, or of others in their places, may show a time."""
    return _ANY_CLOCK.search(text[:SCAN]) is not None or _EPOCH_PLACE.search(text[:SCAN]) is not None


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
