"""What the ranks' output shows when it is laid side by side: the `logs.*` findings.

Each rule emits only what is really shown; where ranks or times cannot be recovered, it stays silent.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.run.positions import PID
from distkb.evidence.run.reached import finished, last_steps, steps_made
from distkb.evidence.run.steps import ends_run, last_progress, reaches_its_end
from distkb.evidence.run.timeline import Event, Timeline, line_quote, quote
from distkb.evidence.run.watchdog import different_ops, rank_behind
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.lines import head
from distkb.evidence.text.ranks import MOST_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.evidence.run.lines import Line, Lines
    from distkb.evidence.run.processes import Process, Run

QUOTES = 6
FROZEN, STILL_WORKING = "logs.frozen-without-error", "logs.rank-still-working"
QUIET = 1.0
"""Seconds by which one rank must outlast the others to count as still working."""


def derive(
    run: Run, timeline: Timeline, work: Mapping[str, Lines], *, hanging: bool = False, failed: bool = False
) -> list[Observation]:
    """All findings of a run from what its ranks printed of their work.

    `hanging`: the user says that it freezes. `failed`: an error was printed that nothing in the timeline stands for.
    """
    found = [
        _failed_first(run, timeline, work),
        _same_error(timeline),
        _only_echoes(timeline),
        *_calls(run, timeline),
        _finished_early(run, timeline),
        last_steps(run, timeline, work),
        _still_working(run, timeline, work),
        _missing(run, timeline, work),
        *_never_joined(run, timeline, work),
        None if failed else _frozen(run, timeline, work, hanging=hanging),
        _user_exception(timeline),
        steps_made(run, timeline, work),
        _only_rank_zero(run),
        different_ops(run),
        *rank_behind(run),
    ]
    return [item for item in found if item is not None]


def _finding(name: str, quotes: Sequence[Quote], certainty: float = 1.0) -> Observation:
    return Observation(id=f"logs.{name}", source="log", certainty=certainty, quotes=tuple(quotes)[:QUOTES])


def _causes(timeline: Timeline) -> dict[str, Event]:
    """First failure of its own of each process."""
    first: dict[str, Event] = {}
    for event in timeline.events:
        if event.kind != "echo":
            first.setdefault(event.process, event)
    return first


def _failed_first(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> Observation | None:
    causes = {
        key: event
        for key, event in _causes(timeline).items()
        if event.rank is not None and not _DISAGREEMENT.search(event.text) and not _NEVER_MET.search(event.text)
    }
    others = {e.process for e in timeline.events if e.kind == "echo"} | {f"rank {f.rank}" for f in timeline.failures}
    others |= {process.key for process in run.ranked}
    if not causes or (len(others | set(causes)) < 2 and not _stopped_peers(run)):
        return None
    ordered = sorted(causes.values(), key=timeline.events.index)
    first = ordered[0]
    if _failed_unheard(first, run, timeline, work):
        return None
    certainty = 1.0
    if len(ordered) > 1:
        times = [timeline.time(event) for event in ordered[:2]]
        same = first.label == ordered[1].label
        if same or times[0] is None or times[1] is None or times[1] - times[0] < 0.5:
            return None
        certainty = 0.7
    echoes = [event for event in timeline.events if event.kind == "echo" and event.process != first.process]
    return _finding("one-rank-failed-first", [quote(event, timeline) for event in (first, *echoes)], certainty)


def _failed_unheard(first: Event, run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> bool:
    """Whether other ranks ended by themselves in the same moment and the same way, and their output is not here.

    A launcher that shows the output of some ranks only, as torchrun's `--local-ranks-filter` does, lets an error of all
    of them look like that of one.
    """
    own = next((failure for failure in timeline.failures if failure.rank == first.rank), None)
    heard = {process.rank for process in run.ranked if work.get(process.key) or process.traces or process.hits}
    return (
        own is not None
        and own.stamp is not None
        and any(
            failure.rank not in heard and failure.exitcode == own.exitcode > 0 and failure.stamp == own.stamp
            for failure in timeline.failures
        )
    )


_NEVER_MET = re.compile(r"clients joined|wait timeout after|waiting for key|Timed out after \d+ seconds waiting")
"""Errors of ranks that waited for others to come at all: the one that says it first is not the one that failed."""

_DISAGREEMENT = re.compile(
    r"op\.preamble\.length|[Dd]oesn.t match expected size|Detected mismatch between collectives"
    r"|Collectives differ in|Error when verifying shape|appears not to match sizes"
)
"""Errors of two ranks that disagree: the one that prints them is no more at fault than the other."""


def _stopped_peers(run: Run) -> bool:
    """Whether the launcher says that it stopped other processes because of the failed one."""
    return any(hit.signature == "torch.elastic.sigterm-peer" for process in run.processes for _, hit in process.hits)


def _same_error(timeline: Timeline) -> Observation | None:
    causes = {key: event for key, event in _causes(timeline).items() if event.trace is not None and event.frames}
    if len(causes) < 2 or {event.process for event in timeline.events} != set(causes):
        return None
    kinds = {(event.label, event.frames[-1].path, event.frames[-1].line) for event in causes.values()}
    if len(kinds) != 1:
        return None
    return _finding("same-error-on-every-rank", [quote(event, timeline) for event in causes.values()])


def _only_echoes(timeline: Timeline) -> Observation | None:
    if not timeline.events or any(event.kind != "echo" for event in timeline.events):
        return None
    return _finding("only-echoes", [quote(event, timeline) for event in timeline.events])


def _calls(run: Run, timeline: Timeline) -> list[Observation]:
    waiting: dict[str, Event] = {}
    for event in timeline.events:
        if event.frames and (event.kind == "echo" or _inside_collective(event)):
            waiting.setdefault(event.process, event)
    if len(waiting) < 2:
        return []
    quotes = [_frame_quote(event) for event in waiting.values()]
    places = {tuple((frame.path, frame.line) for frame in event.frames) for event in waiting.values()}
    if len(places) > 1:
        distinct = {places_of(event): _frame_quote(event) for event in reversed(list(waiting.values()))}
        return [_finding("ranks-in-different-calls", list(distinct.values()))]
    everyone = {process.key for process in run.processes if process.rank is not None or process.whole}
    if everyone <= set(waiting) and not _causes(timeline) and len(waiting) >= (world_size(run, timeline) or 0):
        return [_finding("ranks-in-same-call", quotes)]
    return []


def _inside_collective(event: Event) -> bool:
    """Whether a failure that is no echo was raised in a collective: the ranks were compared there and differed."""
    if event.kind != "other" or event.trace is None:
        return False
    below = event.trace.chain.first.below
    return bool(below) and "torch/distributed/distributed_c10d" in below[-1].path.replace("\\", "/")


def places_of(event: Event) -> tuple[tuple[str, int], ...]:
    """Where in the user's code an event happened, outermost call first."""
    return tuple((frame.path, frame.line) for frame in event.frames)


def _frame_quote(event: Event) -> Quote:
    frame = event.frames[-1]
    line = event.trace.line_of(frame.at) if event.trace else event.line
    return Quote(text=quote_text(frame.text), path=event.path, line=line, rank=event.rank)


def _finished_early(run: Run, timeline: Timeline) -> Observation | None:
    waiting = [event for event in timeline.events if event.kind == "echo"]
    failed = {event.process for event in timeline.events}
    if not waiting or any(event.kind != "echo" for event in timeline.events):
        return None
    listed = {failure.rank: failure for failure in timeline.failures}
    silent = [process for process in run.ranked if process.key not in failed and (process.tail or process.whole)]
    found: list[Quote] = []
    shown = False
    certainty = 1.0
    for process in silent:
        says = finished(process)
        failure = listed.get(process.rank if process.rank is not None else -1)
        if failure is not None and not (says and failure.signal in {"SIGTERM", "SIGABRT"}):
            if failure.signal != "SIGABRT" or not waiting[0].gone:
                continue
            certainty = 0.6
        if failure is None and not listed and not says:
            if not waiting[0].gone:
                continue
            certainty = 0.6
        shown = True
        found += [line_quote(line, process, timeline) for line in process.tail[-1:]]
    if not shown:
        return None
    return _finding("rank-finished-early", [*found, quote(waiting[0], timeline)], certainty)


def _still_working(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> Observation | None:
    if any(event.kind in {"own", "signal"} for event in timeline.events):
        return None
    timed_out = {event.process for event in timeline.events if event.kind == "echo" and not event.gone}
    last: list[tuple[float, Process, Line]] = []
    for process in run.ranked:
        stamped = next((line for line in reversed(work[process.key].stamped()) if line.stamp is not None), None)
        if stamped is not None and (time := timeline.times.of(stamped.stamp)) is not None:
            last.append((time, process, stamped))
    if len(last) < 2:
        return None
    last.sort(key=lambda item: item[0])
    time, process, line = last[-1]
    quiet_time, quiet, quiet_line = last[-2]
    pace = _pace([timeline.times.of(item.stamp) for item in work[process.key]], quiet_time)
    if time - quiet_time < max(QUIET, 1.5 * pace) or not timed_out - {process.key} or _waited_too(process, timeline):
        return None
    quotes = (line_quote(line, process, timeline), line_quote(quiet_line, quiet, timeline))
    return Observation(id=STILL_WORKING, source="log", quotes=quotes)


def _waited_too(process: Process, timeline: Timeline) -> bool:
    """Whether a rank that timed out itself was already waiting when the first of the others gave up."""
    timeouts = [event for event in timeline.events if event.kind == "echo" and not event.gone]
    own = next((event for event in timeouts if event.process == process.key), None)
    if own is None:
        return False
    gave_up = min(
        (t for e in timeouts if e.process != process.key and (t := timeline.time(e)) is not None), default=None
    )
    time = timeline.time(own)
    return gave_up is None or time is None or time - (own.delay or 0.0) < gave_up


def _pace(times: Sequence[float | None], until: float) -> float:
    """Usual distance in seconds between a rank's lines while the others still printed too."""
    known = [time for time in times if time is not None and time <= until]
    gaps = sorted(later - earlier for earlier, later in pairwise(known))
    return gaps[len(gaps) // 2] if gaps else 0.0


def world_size(run: Run, timeline: Timeline) -> int | None:
    """Number of ranks, where the logs or their places tell it."""
    said = [value for value in run.worlds if value]
    trees: dict[str, int] = {}
    for scan in run.scans:
        if scan.file.local and scan.file.rank is not None:
            trees[scan.file.group] = max(trees.get(scan.file.group, 0), scan.file.rank + 1)
    seen = [process.rank + 1 for process in run.ranked if process.rank is not None]
    listed = [failure.rank + 1 for failure in timeline.failures]
    joined = [
        int(hit.values["world_size"])
        for scan in run.scans
        for hit in scan.hits
        if hit.values.get("world_size", "").isdecimal()
    ]
    told = [*said, sum(trees.values()), *seen, *listed, *joined]
    return max((number for number in told if number <= MOST_RANKS), default=0) or None


def _missing(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> Observation | None:
    talking = [process for process in run.ranked if process.whole and work[process.key]]
    if not any(process.rank for process in talking):
        return None  # by convention only rank 0 prints
    world = world_size(run, timeline) or 0
    present = {process.rank for process in run.ranked if process.tail or process.hits or process.traces}
    absent = [rank for rank in range(world) if rank not in present]
    if not absent or len(absent) > len(present):
        return None
    quotes = [line_quote(work[p.key][-1], p, timeline) for p in talking]
    return _finding("rank-missing", quotes)


_MEMBER = re.compile(r"(?i)\b(?:rank|member|process)[ =:]{0,2}(\d{1,5}) ?(?:/|of) ?(\d{1,5})\b")


def _never_joined(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> list[Observation]:
    """Whether fewer members announced themselves than they say that there are, and nothing came after it.

    Two of them may have announced themselves as the same one.
    """
    if timeline.events or timeline.failures:
        return []
    members: dict[int, dict[str, tuple[Process, Line]]] = {}
    most = 0
    for process in run.processes:
        lines = work[process.key]
        if lines and last_progress(lines):
            return []
        for line in lines.where(_announces):
            found = _MEMBER.search(line.text[:400])
            if found is not None:
                members.setdefault(int(found[1]), {}).setdefault(line.text, (process, line))
                most = max(most, int(found[2]))
    if not 0 < len(members) < most <= MOST_RANKS:
        return []
    first = [next(iter(said.values())) for _, said in sorted(members.items())]
    twice = next((said for said in members.values() if _of_two(said)), {})
    shown = {"run.never-joined": first, "run.rank-taken-twice": list(twice.values())}
    return [
        Observation(
            id=name,
            source="log",
            quotes=tuple(line_quote(line, process, timeline) for process, line in said[:QUOTES]),
        )
        for name, said in shown.items()
        if said
    ]


def _of_two(said: Iterable[str]) -> bool:
    """Whether lines in which a member announces itself name two processes, and are the same otherwise."""
    pids: dict[str, set[str]] = {}
    for text in said:
        for found in PID.finditer(text[:400]):
            pids.setdefault(_DIGITS.sub("#", text), set()).add(found[1])
    return any(len(numbers) > 1 for numbers in pids.values())


_DIGITS = re.compile(r"\d+")


def _announces(text: str) -> bool:
    return _MEMBER.search(text[:400]) is not None


_MIDWAY = re.compile(
    r"(?i)(?:\.\.\.|…)\s*$|\b(?:start(?:ing|ed)?|initiali[sz]ing|waiting|begin(?:ning)?|entering|before)\b"
)
"""Last lines that call for another; "saving" does not, because many healthy runs end with it."""


def _frozen(run: Run, timeline: Timeline, work: Mapping[str, Lines], *, hanging: bool) -> Observation | None:
    if timeline.events or timeline.failures or run.launcher or any(process.traces for process in run.processes):
        return None
    if not hanging and sum(bool(work[process.key]) for process in run.processes) < 2:
        return None  # the output of one process that goes on looks the same
    quotes: list[Quote] = []
    for process in run.processes:
        lines = work[process.key]
        if not lines:
            continue
        if any(ends_run(line.text) for line in lines[-5:]):
            return None
        progress = [p for p in last_progress(lines).values() if p.total]
        midway = bool(progress) and not reaches_its_end(lines)
        if progress and not midway:
            return None
        if midway or hanging or _MIDWAY.search(lines[-1].text[:400]):
            quotes.append(line_quote(lines[-1], process, timeline))
    return _finding("frozen-without-error", quotes, 1.0 if hanging else 0.7) if quotes else None


def _user_exception(timeline: Timeline) -> Observation | None:
    own = [event for event in timeline.events if event.kind == "own"]
    return _finding("exception-in-user-code", [quote(event, timeline) for event in own]) if own else None


_ALONE = re.compile(
    r"(?i)\bworld[_ ]?size['\"]?\s*(?:[:=]|is)\s*1\b(?!\d)|\brank 0 (?:of|/) ?1\b|\bNum processes: 1\b|\[?rank 0/1\b"
    r"|Distributed environment: (?:DistributedType\.)?NO\b|starting (?:process )?0/1\b"
)


def _only_rank_zero(run: Run) -> Observation | None:
    if any(world > 1 for world in run.worlds) or any(p.rank for p in run.ranked):
        return None
    quotes: list[Quote] = []
    for scan in run.scans:
        for number, line in enumerate(scan.start.split("\n"), scan.first_line):
            if (found := _ALONE.search(line[:400])) is not None:
                begin = head(line)
                text = quote_text(line, *found.span())
                quotes.append(Quote(text=text, path=scan.file.name, line=number, rank=begin.rank))
                if len(quotes) >= QUOTES:
                    break
    return _finding("only-rank-zero", quotes) if quotes else None


def coverage(run: Run, timeline: Timeline) -> float:
    """How far the absence of a message means that no rank printed it, 0 to 1."""
    if not any(scan.size for scan in run.scans):
        return 0.0
    whole = [process for process in run.ranked if process.whole]
    world = world_size(run, timeline) or len(whole)
    if whole and world:
        share = min(1.0, len(whole) / world)
        streams = {scan.file.stream for scan in run.scans if scan.size}
        complete = 0.9 if streams != {"stdout"} else 0.5
        return round(max(0.3, complete * share), 2)
    if len(run.ranked) > 1:
        return 0.6
    return 0.3
