"""The course of events across ranks and files: what failed, what only echoed it, and in which order."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.observation import Quote
from distkb.evidence.readers.error_files import ErrorFile, Failure, parse_table
from distkb.evidence.readers.stacks import known
from distkb.evidence.run.processes import Process, Run, Trace
from distkb.evidence.scanner.scan import Excerpt, FileScan, LineMatch
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.lines import Stamp, seconds
from distkb.evidence.text.shapes import ShapedText
from distkb.evidence.text.traceback import Raised, TracebackFrame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.evidence.run.lines import Line

NOTES = 12
"""Events in the notes."""

Kind = Literal["own", "other", "signal", "echo"]
"""`own`: the user's code or data raised it. `other`: a failure of its own in a library or the system.
`signal`: killed by a signal that no peer's failure explains. `echo`: waited in vain, or lost a peer."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One failure of one process."""

    kind: Kind
    process: str
    rank: int | None
    label: str
    """Exception type, signature id or signal: what tells this failure from others."""
    said: ShapedText | str
    """Its line, fit to be shown."""
    path: str
    line: int
    stamp: Stamp | None = None
    exact: bool = False
    """True where the time is that of the event itself; else it happened after it."""
    delay: float | None = None
    """Seconds that the process had waited, where the message says so."""
    gone: bool = False
    """True where a peer closed the connection: it ended before this event."""
    frames: tuple[TracebackFrame, ...] = ()
    """Frames of the user's code, outermost first."""
    trace: Trace | None = None
    order: int = 0

    @property
    def text(self) -> str:
        """Its line, fit to be shown."""
        return str(self.said)


class Times(msgspec.Struct, frozen=True):
    """The scale that all times of the run are put on."""

    day: int | None = None
    """Day of times without a date."""
    year: int | None = None
    """Year of dates without one."""
    clock_only: bool = False
    """True where some times have no date and no one day fits them."""

    def of(self, stamp: Stamp | None) -> float | None:
        """Seconds on that scale."""
        if stamp is None:
            return None
        return stamp.clock if self.clock_only else seconds(stamp, self.day, self.year)


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """All failures of the run."""

    events: tuple[Event, ...]
    failures: tuple[Failure, ...]
    """torchrun's table."""
    times: Times
    table: tuple[str, int] | None = None
    """Path and line of the table."""

    def time(self, event: Event) -> float | None:
        """Best known time of an event."""
        base = self.times.of(event.stamp)
        if base is None or event.exact:
            return base
        return base + (event.delay or 0.0)


_ECHO = re.compile(
    r"Connection (?:was )?(?:closed|reset)|closed by (?:remote )?peer|[Tt]imed out|time ?out|Socket [Tt]imeout"
    r"|Broken pipe|ncclRemoteError|wait timeout|Watchdog|recvValue failed|failed to (?:recv|send)|heartbeat"
    r"|remote process exited|Socket (?:closed|unexpectedly closed)|NCCL communicator was aborted|peer (?:exited|gone)"
    r"|clients joined|Stop_waiting response"
)
_GONE = re.compile(
    r"Connection (?:was )?(?:closed|reset)|closed by (?:remote )?peer|Broken pipe|ncclRemoteError|remote process exited"
    r"|Socket closed|recvValue failed|unexpectedly closed"
)
_COMMUNICATION_TYPES = frozenset(
    {"DistNetworkError", "DistStoreError", "DistBackendError", "DistError", "TimeoutError", "RuntimeError"}
)
_ENDED_TYPES = frozenset(
    {"KeyboardInterrupt", "SystemExit", "SignalException", "BrokenPipeError", "ConnectionResetError", "GeneratorExit"}
)
_WAITED = re.compile(
    r"(?:waiting|after|ran for|timeout(?:\(ms\))?[=:]?)\s*(\d{1,9})\s*(?:ms\b|milliseconds)"
    r"|Timeout\(ms\)=(\d{1,9})|after (\d{1,9})\s*seconds"
)
_NOT_USER = re.compile(
    r"(?:^|/)(?:torch/(?:distributed|nn/parallel|autograd|cuda|_C|_tensor\.py)|deepspeed|accelerate|lightning"
    r"|pytorch_lightning|horovod|apex)(?:/|$)"
)
_NOT_USER_MESSAGE = re.compile(
    r"CUDA (?:error|out of memory)|NCCL|cuDNN|CUBLAS|gloo|out of memory|c10d|process group", re.IGNORECASE
)


def build(run: Run, error_files: Sequence[tuple[str, int | None, ErrorFile]], roles: Mapping[str, str]) -> Timeline:
    """Order the failures of a run; `roles` gives each signature's role."""
    events: list[Event] = []
    for process in run.processes:
        events += _process_events(process, roles)
    failures, table = _table(run.scans)
    events += _signals(failures, table, events, run)
    events = [_with_error_file(event, error_files) for event in events]
    times = _times(events, failures, run)
    timeline = Timeline(events=(), failures=tuple(failures), times=times, table=table)
    return msgspec.structs.replace(timeline, events=tuple(_ordered(events, timeline)))


def _process_events(process: Process, roles: Mapping[str, str]) -> list[Event]:
    events: list[Event] = []
    covered: set[tuple[str, int]] = set()
    at: dict[tuple[str, int], list[str]] = {}
    for scan, hit in process.hits:
        at.setdefault((scan.file.name, hit.line), []).append(hit.signature)
    ended = False
    for trace in process.traces:
        # What fails in the handler of a signal, and after it, follows from the end that the signal made.
        ended = ended or any(known.handles_signals(f.path) for raised in trace.chain.raised for f in raised.frames)
        places = {(trace.path, trace.line + index) for index in trace.chain.consumed}
        covered |= places
        found = {roles.get(name, "context") for place in places for name in at.get(place, ())}
        event = _trace_event(process, trace, found, ended=ended)
        if event is not None:
            events.append(event)
    after = aftermath(process, events, roles)
    failures = {"primary", "collateral"} if events else {"primary", "collateral", "result"}
    for scan, hit in process.hits:
        if (scan.file.name, hit.order, hit.signature) in after:
            continue
        if hit.values.keys() >= {"rank", "signal"} and hit.values["rank"].isdecimal():
            events.append(_killed(scan, hit))
            continue
        role = roles.get(hit.signature, "context")
        if role not in failures or hit.signature.startswith("torch.elastic.") or (scan.file.name, hit.line) in covered:
            continue
        events.append(
            Event(
                kind="echo" if role == "collateral" else "other",
                process=process.key,
                rank=process.rank,
                label=hit.signature,
                said=hit.said,
                path=scan.file.name,
                line=hit.line,
                stamp=hit.stamp,
                exact=hit.exact,
                delay=waited(hit.text),
                gone=role == "collateral" and _GONE.search(hit.text) is not None,
                order=hit.order,
            )
        )
    return events


def aftermath(process: Process, events: Iterable[Event], roles: Mapping[str, str]) -> set[tuple[str, int, str]]:
    """Return the failures that a rank printed after the exception with which its wait for others had ended in vain.

    Each is told by its file, its place there and its signature: an abort while Python unwinds is no cause.
    """
    ended: dict[str, int] = {}
    for event in events:
        if event.kind == "echo" and event.trace is not None and event.process == process.key:
            last = event.trace.line + max(event.trace.chain.consumed, default=0)
            ended[event.path] = min(last, ended.get(event.path, last))
    return {
        (scan.file.name, hit.order, hit.signature)
        for scan, hit in process.hits
        if roles.get(hit.signature) == "primary" and hit.line > ended.get(scan.file.name, hit.line)
    }


def _killed(scan: FileScan, hit: LineMatch) -> Event:
    """A rank that the launcher or scheduler says was killed."""
    rank = int(hit.values["rank"])
    return Event(
        kind="signal",
        process=f"rank {rank}",
        rank=rank,
        label=hit.values["signal"],
        said=hit.said,
        path=scan.file.name,
        line=hit.line,
        stamp=hit.stamp,
        exact=hit.exact,
        order=hit.order,
    )


def _trace_event(process: Process, trace: Trace, roles: set[str], *, ended: bool) -> Event | None:
    first = trace.chain.first
    if not first.type or first.type.rpartition(".")[2] in _ENDED_TYPES - {"BrokenPipeError", "ConnectionResetError"}:
        return None
    line = trace.texts[first.at] if 0 <= first.at < len(trace.texts) else first.type
    kind: Kind = "echo" if ended else kind_of(first, roles)
    return Event(
        kind=kind,
        process=process.key,
        rank=process.rank,
        label=first.type,
        said=quote_text(line),
        path=trace.path,
        line=trace.line_of(first.at),
        stamp=trace.stamp,
        delay=waited(first.message),
        gone=kind == "echo" and _GONE.search(first.message) is not None,
        frames=tuple(frame for frame in first.frames if frame.user),
        trace=trace,
        order=trace.order,
    )


def kind_of(raised: Raised, roles: Iterable[str] = ()) -> Kind:
    """What sort of failure an exception is; `roles` are those of the signatures that its text matches."""
    roles = frozenset(roles)
    fails = bool(roles & {"primary", "result"})
    short = raised.type.rpartition(".")[2]
    inside = any(_NOT_USER.search(frame.path.replace("\\", "/")) for frame in raised.below)
    communication = short.startswith("Dist") or short in _ENDED_TYPES or (short in _COMMUNICATION_TYPES and inside)
    if communication and _ECHO.search(raised.type + ": " + raised.message) and not fails:
        return "echo"
    if "collateral" in roles and not fails:
        return "echo"
    if inside or short.startswith("Dist") or "OutOfMemory" in short or _NOT_USER_MESSAGE.search(raised.message):
        return "other"
    return "own" if raised.user_frame is not None else "other"


def waited(text: str) -> float | None:
    """Seconds that a message says its writer had waited."""
    found = _WAITED.search(text)
    if found is None:
        return None
    if found[3]:
        return float(found[3])
    return float(found[1] or found[2]) / 1000


def _table(scans: Sequence[FileScan]) -> tuple[list[Failure], tuple[str, int] | None]:
    """The last failure table in the logs: earlier ones belong to runs before."""
    best: tuple[list[Failure], tuple[str, int]] | None = None
    for scan in scans:
        for excerpt in scan.excerpts:
            if excerpt.kind == TABLE and (found := read_table(excerpt)):
                best = found, (scan.file.name, excerpt.line)
    return best or ([], None)


TABLE = 1
"""Kind of the excerpts that hold torchrun's table."""


def read_table(excerpt: Excerpt) -> list[Failure]:
    """Return the rows of a table of torchrun, with places from the line of its root cause on."""
    above = excerpt.before.split("\n")
    rows = parse_table(excerpt.before + excerpt.text[:6000])
    shift = len(above) - 1
    return [msgspec.structs.replace(row, at=row.at - shift) for row in rows]


_HARMLESS = frozenset({"SIGTERM", "SIGINT", "SIGHUP", "SIGABRT"})
"""Sent by the launcher or the user; and SIGABRT, with which libraries end a process after saying why, or at exit."""


def _signals(
    failures: Sequence[Failure], table: tuple[str, int] | None, events: Sequence[Event], run: Run
) -> list[Event]:
    """Processes that a signal ended, unless their own output says why."""
    found: list[Event] = []
    for failure in failures:
        if not failure.signal or failure.signal in _HARMLESS or table is None:
            continue
        process = next((one.key for one in run.processes if one.rank == failure.rank), f"rank {failure.rank}")
        if any(event.process == process and event.kind in {"own", "other"} for event in events):
            continue
        found.append(
            Event(
                kind="signal",
                process=process,
                rank=failure.rank,
                label=failure.signal,
                said=quote_text(failure.line),
                path=table[0],
                line=max(1, table[1] + failure.at),
                stamp=failure.stamp,
                exact=True,
            )
        )
    return found


def _with_error_file(event: Event, error_files: Sequence[tuple[str, int | None, ErrorFile]]) -> Event:
    """Take the exact second from the worker's error file where it tells of the same exception."""
    for _, rank, content in error_files:
        if rank == event.rank and content.timestamp and event.trace and content.message.startswith(event.label + ":"):
            day, clock = divmod(content.timestamp, 86400)
            if event.stamp is None:
                return msgspec.structs.replace(event, stamp=Stamp(clock, int(day) + 719163, dated=True), exact=True)
    return event


def _times(events: Sequence[Event], failures: Sequence[Failure], run: Run) -> Times:
    stamps = [event.stamp for event in events] + [failure.stamp for failure in failures]
    stamps += [line.stamp for process in run.processes for line in (*process.tail[:1], *process.tail[-3:])]
    stamps += [hit.stamp for scan in run.scans for hit in scan.hits[:50]]
    known = [stamp for stamp in stamps if stamp is not None]
    years = {date.fromordinal(stamp.day).year for stamp in known if stamp.dated and stamp.day is not None}
    year = max(years, default=None)
    fixed = Times(day=None, year=year)
    days = {int((fixed.of(stamp) or 0.0) // 86400) + 719163 for stamp in known if stamp.day is not None}
    undated = any(stamp.day is None for stamp in known)
    return Times(day=min(days) if len(days) == 1 else None, year=year, clock_only=undated and len(days) != 1)


_WEIGHT: dict[Kind, int] = {"own": 0, "signal": 0, "other": 1, "echo": 2}


def _ordered(events: Sequence[Event], timeline: Timeline) -> list[Event]:
    """By time; what is an echo never comes before the failure that it may echo unless it says when it happened."""
    causes = [timeline.time(event) for event in events if event.kind != "echo"]
    known = [time for time in causes if time is not None]
    floor = min(known) if known else None

    def key(event: Event) -> tuple[float, int, float]:
        time = timeline.time(event)
        if event.kind == "echo" and not event.exact and event.delay is None and floor is not None:
            time = max(time, floor) if time is not None else floor
        if time is None:
            time = floor if floor is not None else 0.0
        return (time, _WEIGHT[event.kind], event.order)

    return sorted(events, key=key)


def quote(event: Event, timeline: Timeline) -> Quote:
    """Place of an event as it is shown; without a time where only a lower bound of an echo's is known."""
    sure = event.exact or event.kind != "echo" or event.delay is not None
    return Quote(
        text=event.text,
        path=event.path,
        line=event.line,
        rank=event.rank,
        time=timeline.time(event) if sure else None,
    )


def plain_quote(line: Line, timeline: Timeline) -> Quote:
    """Return a line with its time, whoever printed it."""
    return Quote(text=quote_text(line.text), path=line.path, line=line.number, time=timeline.times.of(line.stamp))


def line_quote(line: Line, process: Process, timeline: Timeline) -> Quote:
    """A line that a process printed, with its rank and time."""
    time = timeline.times.of(line.stamp)
    return Quote(text=quote_text(line.text), path=line.path, line=line.number, rank=process.rank, time=time)


def notes(run: Run, timeline: Timeline, work: Mapping[str, Sequence[Line]]) -> tuple[Quote, ...]:
    """The course of events: each process's first failure of each sort, in order, and where silent ones stopped."""
    chosen: list[Event] = []
    seen: set[tuple[str, bool]] = set()
    echoes = 0
    for event in timeline.events:
        slot = (event.process, event.kind == "echo")
        if slot in seen or (event.kind == "echo" and echoes >= NOTES // 2):
            continue
        seen.add(slot)
        echoes += event.kind == "echo"
        chosen.append(event)
    quotes = [quote(event, timeline) for event in chosen[:NOTES]]
    failed = {event.process for event in timeline.events}
    for process in run.processes:
        own = work.get(process.key)
        if process.key in failed or process.rank is None or not own or len(quotes) >= NOTES or not chosen:
            continue
        last = own[-1]
        time = timeline.times.of(last.stamp)
        quotes.append(Quote(text=quote_text(last.text), path=last.path, line=last.number, rank=process.rank, time=time))
    return tuple(quotes)
