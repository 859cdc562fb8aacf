"""From scanned files to what they show together: timeline, findings, frames, notes, coverage."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.inventory import LogFile
from distkb.evidence.observation import Closeup, Observation, Quote, RankState
from distkb.evidence.readers.error_files import ErrorFile
from distkb.evidence.run import findings
from distkb.evidence.run.closeup import Wish, closeup
from distkb.evidence.run.directories import own_directories
from distkb.evidence.run.ends import (
    completed,
    fallbacks,
    going,
    last_words,
    questions,
    quiet,
    stopped_apart,
    stuck_again,
    taken_up,
)
from distkb.evidence.run.frames import frames
from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.run.observe import QUOTES, Model, first_failure, observe
from distkb.evidence.run.parting import Parting, part
from distkb.evidence.run.positions import Position, positions
from distkb.evidence.run.processes import Run, Trace, assemble, attempts
from distkb.evidence.run.reached import MADE, STEPS, learnt
from distkb.evidence.run.rollcall import roll_call
from distkb.evidence.run.said import began_apart, read_before_written, resumed_behind, shorter_limit
from distkb.evidence.run.sayings import alone, talks
from distkb.evidence.run.sizes import divided, told_apart
from distkb.evidence.run.steps import ends_run
from distkb.evidence.run.timeline import Event, Timeline, aftermath, build, notes, plain_quote, quote
from distkb.evidence.run.unexplained import general
from distkb.evidence.run.versions import versions_apart
from distkb.evidence.run.work import own_words, without_warnings, work_of
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.readers.stacks.group import Standing
    from distkb.evidence.scanner.scan import FileScan


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """The runs before the newest one."""

    apart: Sequence[FileScan] = ()
    """Files of runs that have files of their own."""
    in_files: Sequence[Sequence[FileScan]] = ()
    """Runs that stand before it in the same files, oldest first."""


class Parted(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ranks stood, as far as positions and last lines tell it."""

    parting: Parting | None
    places: tuple[Position, ...]
    last_lines: tuple[tuple[int, Line], ...]
    """What each rank printed last."""


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What the logs show beyond single lines."""

    observations: tuple[Observation, ...]
    notes: tuple[Quote, ...]
    coverage: float
    run: Run
    timeline: Timeline
    ranks: tuple[RankState, ...] = ()
    """The roll call."""
    troubled: bool = False
    """Whether anything says that the run failed, froze or was ended."""
    resumed: bool = False
    """Whether it went on from where an earlier one had come to."""
    completed: bool = False
    """Whether every rank came to the end of the run."""
    open_end: bool = False
    """Whether the output ends and nothing in it says how: nothing failed, and nobody said that it was done."""
    first: int | None = None
    """The rank that failed by itself before all others, whose errors are then its consequences."""
    parted: Parted | None = None
    """Where the ranks stood, where none failed by itself: for the scripts to say what sent them there."""
    places: tuple[Position, ...] = ()
    """Where each rank stood, whether or not that tells of the cause."""
    closeup: Closeup | None = None
    """Where it was wished for."""
    unexplained: Quote | None = None
    """What the first failure says, where a library raised it and no message of the catalogue fits."""
    aftermath: frozenset[tuple[str, int, str]] = frozenset()
    """Hits, by file, place and signature, that a rank printed after its wait for others had failed."""


def derive(
    scans: Sequence[FileScan],
    error_files: Sequence[tuple[LogFile, ErrorFile]],
    signatures: Sequence[Signature],
    standing: Sequence[Standing] = (),
    *,
    hanging: bool = False,
    before: Before | None = None,
    wish: Wish | None = None,
) -> Derived:
    """Put all files and stack dumps together.

    `hanging`: the user says that the run freezes. `before` are the runs before this one.
    """
    run = assemble(scans)
    unexplained = general(signatures)
    roles = {s.id: "context" if s.id in unexplained else _role(s) for s in signatures}
    files = [(file.name, file.rank, content) for file, content in error_files if file.attempt in {None, run.attempt}]
    timeline = build(run, files, roles)
    words = work_of(run, timeline, warnings=True)
    work = without_warnings(words)
    said = own_words(run, words)
    endings = {signature.id for signature in signatures if signature.ending}
    ended = any(hit.signature in endings for scan in scans for hit in scan.hits)
    raised = any(event.kind == "own" for event in timeline.events)
    spoken = talks(run.ranked, said) or talks(run.processes, said)
    stopped = stopped_apart(run, timeline, spoken)
    done = () if ended or stopped or hanging else completed(run, timeline, work)
    failed = any(hit.signature in unexplained for scan in scans for hit in scan.hits)
    shown = findings.derive(run, timeline, work, hanging=hanging, failed=failed)
    frozen = hanging or bool(stopped) or any(o.id == findings.FROZEN for o in shown)
    troubled = bool(timeline.events or timeline.failures or run.launcher or ended or standing) or frozen
    world = findings.world_size(run, timeline)
    first = first_failure(timeline, any(o.id == "logs.one-rank-failed-first" for o in shown))
    places = positions(run, timeline, standing, world or len(run.ranked))
    troubled = troubled or any(place.how == "interrupt" for place in places)
    own = own_words(run, work)
    nobodys = any(process.rank is None and own.get(process.key) for process in run.processes)
    in_frames = frames(run, places, signatures)
    goes = going(run, timeline, work, signatures)
    tries = _tries(scans, roles)
    before = before or Before()
    told = [_words(older, roles) for older in before.in_files]
    through = _joined([*told, said])
    earlier = cache(lambda: _joined([_words(before.apart, roles), *told]))
    taken = taken_up([words for words, _ in tries] or ([*told, said] if told else _restarts(said)))
    if taken is not None and taken.anew and told:
        # A run that was launched anew after a failure of its own, or fails itself, has another fault than how it began.
        last = [scan for older in before.in_files[-1:] for scan in older]
        stopped_before = any(hit.signature in endings for scan in last for hit in scan.hits)
        taken = taken if stopped_before and not troubled else None
    late = {o.quotes[0].rank for o in shown if o.id == findings.STILL_WORKING}
    met = [place for place in places if place.rank not in late]
    waits = [place for place in met if not (goes and place.how == "interrupt")]
    model = Model(
        first=first,
        explained=first is not None and _is_known(first, run, roles, in_frames),
        parting=None if first is not None or raised else part(waits, world),
        spoken=spoken,
        stopped=stopped,
        troubled=troubled,
        last=last_words(run, timeline, said) if troubled else (),
        completed=done,
        taken_up=taken,
        stuck_again=stuck_again(tries[0][0], tries[-1][0]) if tries and not tries[-1][1].events else None,
        read_before_written=read_before_written(said, timeline) if len(run.ranked) > 1 else None,
        began_apart=began_apart(spoken),
        versions_apart=versions_apart(run.ranked, said),
        resumed_behind=resumed_behind(through, earlier, timeline.times),
        divided=divided(said, world),
        shorter_limit=shorter_limit(said, timeline),
        quiet=quiet(run, timeline, work, signatures),
        going=goes,
        through=talks(run.ranked, through) or talks(run.processes, through) if told else (),
    )
    events: dict[str, list[Event]] = defaultdict(list)
    for event in timeline.events:
        events[event.process].append(event)
    unknown = _unexplained(timeline, run, roles, in_frames)
    uncaught = (unknown[1],) if unknown is not None and _is_uncaught(unknown[0]) else ()
    quoted = {
        "run.own-directories": own_directories(run.processes),
        "run.ends-in-question": questions(scans),
        "run.all-wait": _all_waiting(waits, world),
        "run.own-threads-asleep": tuple(place.quote for place in places if place.beside is not None),
        "run.worked-before": _steps_of(earlier(), timeline)
        if (before.apart or told) and not any(one.id == STEPS for one in shown)
        else (),
        "run.fails-anew": _failed_anew(tries[0][1], tries[-1][1]) if tries else (),
        "logs.exception-in-library": uncaught,
    }
    sizes = told_apart(hit for process in run.processes for hit in process.hits)
    found = [
        *shown,
        *(() if sizes is None else (sizes,)),
        *(Observation(id=name, source="log", quotes=quotes) for name, quotes in quoted.items() if quotes),
        *in_frames,
        *observe(model, signatures, timeline),
    ]
    return Derived(
        observations=tuple(found),
        notes=notes(run, timeline, own),
        coverage=findings.coverage(run, timeline),
        run=run,
        timeline=timeline,
        troubled=troubled,
        resumed=taken is not None and not taken.anew,
        completed=bool(done),
        open_end=not troubled and any(own.values()) and not any(ends_run(line.text) for line in _ends(own)),
        ranks=roll_call(run.ranked, timeline, met, own, world, open_lines=nobodys, done=bool(done)),
        first=None if first is None else first.rank,
        parted=None if first is not None or raised or not troubled else _parted(model, places, frozen),
        places=places,
        unexplained=None if unknown is None else unknown[1],
        aftermath=frozenset().union(*(aftermath(one, events[one.key], roles) for one in run.processes)),
        closeup=None
        if wish is None
        else closeup(run, timeline, places, alone(model.spoken) if troubled else (), world, wish),
    )


def _all_waiting(places: Sequence[Position], world: int | None) -> tuple[Quote, ...]:
    """Where the ranks wait for one another, if every rank of the world does and none of them ended by itself.

    Before the ranks have met, each of them waits for the meeting and not for another.
    """
    ranks = {place.rank for place in places if place.waits and not place.died and place.stage != "init"}
    whole = world is not None and world > 1 and ranks == set(range(world)) and len(places) == world
    return tuple(place.quote for place in places) if whole else ()


def _steps_of(work: Mapping[str, Sequence[Line]], timeline: Timeline) -> tuple[Quote, ...]:
    """The first steps that a process of an earlier run printed."""
    for lines in work.values():
        made = list(islice(learnt(Lines.given(lines), MADE), MADE))
        if len(made) == MADE:
            return tuple(plain_quote(line, timeline) for _, line in made)
    return ()


def _ends(own: Mapping[str, Sequence[Line]]) -> Iterator[Line]:
    """The last lines of each process, in which it says that it is done."""
    return chain.from_iterable(lines[-5:] for lines in own.values())


def _words(scans: Sequence[FileScan], roles: Mapping[str, str]) -> Mapping[str, Sequence[Line]]:
    """What the processes of another run printed of their own work."""
    run = assemble(scans)
    return own_words(run, work_of(run, build(run, [], roles), warnings=True))


def _joined(runs: Sequence[Mapping[str, Sequence[Line]]]) -> Mapping[str, Lines]:
    """What each process printed in one run after another."""
    keys = dict.fromkeys(key for words in runs for key in words)
    return {key: Lines(part for words in runs for part in Lines.given(words.get(key, ())).parts) for key in keys}


def _role(signature: Signature) -> str:
    """What a message says of the process that printed it; `result` is a failure only of one that raises nothing."""
    wrong = signature.role == "primary" and "symptom=wrong-result" in signature.implies
    return "result" if wrong else signature.role


def _unexplained(
    timeline: Timeline, run: Run, roles: Mapping[str, str], in_frames: Sequence[Observation]
) -> tuple[Trace, Quote] | None:
    """Return the exception that a library raised before all others, if the catalogue does not know it."""
    first = next((event for event in timeline.events if event.kind in {"own", "other"} and event.trace), None)
    if first is None or first.trace is None or _is_known(first, run, roles, in_frames):
        return None
    raised = first.trace.chain.first
    text = quote_text(f"{raised.type}: {raised.message}")
    return (first.trace, Quote(text=text, path=first.path, line=first.line, rank=first.rank)) if raised.below else None


def _is_uncaught(trace: Trace) -> bool:
    """Whether nothing caught an exception: the traceback of one that is caught begins where that was done."""
    frames = trace.chain.raised[-1].frames
    return bool(frames) and frames[0].function == "<module>"


def _is_known(first: Event, run: Run, roles: Mapping[str, str], in_frames: Sequence[Observation]) -> bool:
    """Whether a message of the failing rank, or a frame of its traceback, is a failure that the catalogue knows."""
    printed = (hit.signature for process in run.processes if process.key == first.process for _, hit in process.hits)
    raised = (o.id for o in in_frames if any(quote.rank == first.rank for quote in o.quotes))
    return any(roles.get(name) in {"primary", "result"} for name in (*printed, *raised))


def _parted(model: Model, places: Sequence[Position], frozen: bool) -> Parted:
    """Last lines count in a run that hangs: elsewhere the ranks were just cut off at different ones."""
    hangs = frozen or model.parting is not None
    ranked = ((talk.process.rank, talk.lines) for talk in model.spoken if hangs)
    last = tuple((rank, lines[-1]) for rank, lines in ranked if rank is not None and lines)
    return Parted(parting=model.parting, places=tuple(places), last_lines=last)


def _tries(
    scans: Sequence[FileScan], roles: Mapping[str, str]
) -> Sequence[tuple[Mapping[str, Sequence[Line]], Timeline]]:
    """What the ranks printed of their work in each of torchrun's attempts, and what failed in it.

    Nothing where there was one only.
    """
    numbers = attempts(scans)
    if len(numbers) < 2:
        return []
    # A console holds what was printed in all of them.
    runs = [assemble([scan for scan in scans if scan.file.attempt == number], number) for number in numbers]
    timelines = [build(run, [], roles) for run in runs]
    return [(work_of(run, timeline), timeline) for run, timeline in zip(runs, timelines, strict=True)]


def _failed_anew(first: Timeline, last: Timeline) -> tuple[Quote, ...]:
    """Return the errors of the code in which the last attempt ended, where the first one ended otherwise."""
    if not first.events or any(event.kind == "own" for event in first.events):
        return ()
    return tuple(quote(event, last) for event in last.events if event.kind == "own")[:QUOTES]


def _restarts(work: Mapping[str, Sequence[Line]]) -> list[dict[str, Sequence[Line]]]:
    """The output of each process, cut where its counters fall back to their beginning."""
    for key, lines in work.items():
        paths = Lines.given(lines).paths()
        for path in paths:
            own = lines if len(paths) == 1 else [line for line in lines if line.path == path]
            cuts = fallbacks(own)
            if cuts:
                ends = [*cuts, len(own)]
                return [{key: own[start:stop]} for start, stop in zip([0, *cuts], ends, strict=True)]
    return []
