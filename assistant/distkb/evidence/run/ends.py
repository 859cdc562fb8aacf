"""How the run came to its end, and the last words of the ranks that did not say why."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.evidence.observation import Quote
from distkb.evidence.run.lines import FileExcerpt, Line, Lines
from distkb.evidence.run.reached import is_learning
from distkb.evidence.run.sayings import most_often, say, templates
from distkb.evidence.run.steps import (
    counted,
    counted_out,
    ends_run,
    exited_well,
    last_progress,
    reaches_its_end,
    says_finished,
    wording,
)
from distkb.evidence.run.work import SEEN
from distkb.evidence.scanner.scan import hit_quote
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.run.processes import Process, Run
    from distkb.evidence.run.sayings import Talk
    from distkb.evidence.run.timeline import Timeline
    from distkb.evidence.scanner.scan import FileScan, LineMatch

LAST = 3
"""Lines at the end of a rank's output that count as its last words."""
QUIET = 5.0
"""Seconds from which a pause is one."""
LONG = 20.0
"""And where the run printed too little for its pace to be known."""
FEWEST = 3
"""Lines with a time from which its pauses are known."""
PAUSES = 2.0
"""And how many of the run's longest pauses it has to be."""
NEAR = 100
"""Lines at the end of a rank's work in which a series is looked for."""
RECENT = 5
"""Last lines of a series by whose pauses its pace is told."""
AT_PACE = 1.5
"""How many of the longest of these pauses a run may have been without a line that still goes."""
BY_HAND = 0.6
"""Certainty that a run without times was silent before somebody stopped it."""
ALIKE = 3
"""Lines that all ranks printed from which they can be compared."""
RESTART = 4
"""Most restarts in one file; a first line that comes more often is no start."""
REPORTS = 100
"""Lines within which a launcher's report belongs to the ending, or to the report, before it; a job that was requeued
may go on in the same file. Of many reports of one kind only a few are kept, and their number is added."""
_QUESTION = re.compile(r"\?[ :]{0,3}(?:[\[(][^\])]{1,40}[\])])?[ :>]{0,3}$")
"""The end of a line that waits for an answer, with the answers to choose from."""
_NO_WORDS = re.compile(
    r"^(?:\*{5,}|={5,}|-{5,}|Setting OMP_NUM|=+$)|UserWarning|FutureWarning|warnings\.warn|Child process with PID"
)
"""Rules, and lines that a library prints, not the training program."""


def before_endings(scans: Iterable[FileScan], signatures: Iterable[Signature]) -> list[FileScan]:
    """Return the files without what a launcher reported of tasks after an ending from outside had stopped them."""
    endings = {signature.id for signature in signatures if signature.ending}
    reports = {s.id for s in signatures if s.printed_by == "launcher" or "unexplained" in s.where} - endings
    return [_before_endings(scan, endings, reports) for scan in scans]


def _before_endings(scan: FileScan, endings: Collection[str], reports: Collection[str]) -> FileScan:
    last: int | None = None
    left: list[LineMatch] = []
    for hit in scan.hits:
        near = last is not None and hit.line - last <= REPORTS + scan.counts.get(hit.signature, 0)
        follows = near and hit.signature in reports
        if follows or hit.signature in endings:
            last = hit.line
        if not follows:
            left.append(hit)
    return scan if len(left) == len(scan.hits) else scan.with_hits(left)


def last_words(run: Run, timeline: Timeline, work: Mapping[str, Sequence[Line]]) -> tuple[tuple[Process, Line], ...]:
    """Return the last own lines of the ranks that left no failure: of all, where nobody left one.

    Where some ranks waited in vain, those that said nothing of it are the ones that they waited for; on a console whose
    lines carry no rank, what was printed last before the first failure is theirs.
    """
    failed = {event.process for event in timeline.events}
    if any(event.kind != "echo" for event in timeline.events):
        return ()
    first = min((event.line for event in timeline.events), default=None)
    found: list[tuple[Process, Line]] = []
    for process in run.processes:
        if process.key in failed and process.rank is not None:
            continue
        lines: Sequence[Line] = Lines.given(work.get(process.key, ())).where(_is_word)
        if process.rank is None and first is not None:
            lines = [line for line in lines if line.number < first]
        found += [(process, line) for line in lines[-LAST:]]
    everyone = {process.key for process in run.ranked}
    return () if failed and everyone and everyone <= failed else tuple(found)


def _is_word(text: str) -> bool:
    return not _NO_WORDS.search(text[:SEEN])


class Silence(msgspec.Struct, frozen=True):
    """The last line of a run's work, after which nothing came until it was ended from outside."""

    process: Process
    line: Line
    end: Quote
    certainty: float


def quiet(
    run: Run, timeline: Timeline, work: Mapping[str, Sequence[Line]], signatures: Iterable[Signature]
) -> Silence | None:
    """Return the silence before a run was ended from outside; None where it was not longer than any pause before.

    Long is several times as long as the run ever paused between two of its lines. Where its lines or its end carry no
    time, that a person ended it says it less surely. A failure tells more, and nothing is said where one was printed.
    """
    if timeline.events:
        return None
    endings = {s.id: s for s in signatures if s.ending or (s.printed_by == "launcher" and s.role == "primary")}
    ended = [
        (timeline.times.of(hit.stamp), scan, hit) for scan in run.scans for hit in scan.hits if hit.signature in endings
    ]
    known = {key: [(timeline.times.of(line.stamp), line) for line in lines] for key, lines in work.items() if ended}
    times = sorted(time for own in known.values() for time, _ in own if time is not None)
    timed = [(time, scan, hit) for time, scan, hit in ended if time is not None and hit.exact]
    if not times or not timed:
        by_hand = [(scan, hit) for _, scan, hit in ended if "symptom=hang" in endings[hit.signature].implies]
        said = [(p, lines[-1]) for p in run.processes if (lines := work.get(p.key, ()))]
        if not by_hand or not said:
            return None
        return Silence(*said[0], hit_quote(*by_hand[0], None, None), BY_HAND)
    end, scan, hit = min(timed, key=lambda item: item[0])
    pause = max((later - earlier for earlier, later in pairwise(times)), default=0.0)
    known_pace = len(times) >= FEWEST
    if end - times[-1] < max(QUIET if known_pace else LONG, PAUSES * pause):
        return None
    process, last = next((p, line) for p in run.processes for t, line in known.get(p.key, ()) if t == times[-1])
    return Silence(process, last, hit_quote(scan, hit, None, end), 1.0 if known_pace else BY_HAND)


def going(
    run: Run, timeline: Timeline, work: Mapping[str, Sequence[Line]], signatures: Iterable[Signature]
) -> tuple[tuple[Process, Line], ...]:
    """Return the last line of a run that was ended from outside while its lines still came at their pace.

    Empty where a failure was printed, or where the last line is not one of a series whose pauses are known. Where a
    run goes, the places at which an interrupt met the ranks are those of a moment, not of a wait.
    """
    if any(event.kind != "echo" for event in timeline.events):
        return ()
    outside = {s.id for s in signatures if s.ending}
    hits = (hit for scan in run.scans for hit in scan.hits)
    ended = [timeline.times.of(hit.stamp) for hit in hits if hit.exact and hit.signature in outside]
    end = min((time for time in ended if time is not None), default=None)
    if end is None:
        return ()
    for process in run.processes:
        timed = [(time, line) for line in work.get(process.key, ())[-NEAR:] if (time := timeline.times.of(line.stamp))]
        timed = [(time, line) for time, line in timed if time <= end]
        alike = say(timed[-1][1]).template if timed else ""
        series = [(time, line) for time, line in timed if say(line).template == alike][-RECENT:]
        if len(series) < FEWEST:
            continue
        pause = max(later - earlier for (earlier, _), (later, _) in pairwise(series))
        if end - series[-1][0] <= AT_PACE * pause:
            return ((process, series[-1][1]),)
    return ()


def completed(run: Run, timeline: Timeline, work: Mapping[str, Sequence[Line]]) -> tuple[tuple[Process, Line], ...]:
    """Return the lines that show that every rank came to its end without a failure; empty where one did not.

    Often one rank says for all that the run is done: those that made as many steps as it did came to their end too.
    """
    if timeline.failures or run.launcher or any(process.traces for process in run.processes):
        return ()
    said = [(process, Lines.given(lines)) for process in run.processes if (lines := work.get(process.key, ()))]
    well = [(process, lines[-1]) for process, lines in said if exited_well(lines[-1].text)]
    console = [process for process, _ in said if process.rank is None]
    of_all = bool(well) and (len(well) == len(said) or console == [p for p, _ in well if p.rank is None] != [])
    if of_all or timeline.events:
        return tuple(well) if of_all else ()
    done = [lines for _, lines in said if any(ends_run(line.text) for line in lines[-5:])]
    ended = done or [lines for _, lines in said if _came_to_its_end(lines)]
    if not all(_came_to_its_end(lines) or _is_as_far(lines, ended) for _, lines in said):
        return ()
    return tuple((process, lines[-1]) for process, lines in said)


def _came_to_its_end(lines: Lines) -> bool:
    """Whether the last lines of a rank say so, or count to an end."""
    own = any(says_finished(line.text) or exited_well(line.text) for line in lines[-5:])
    return own or reaches_its_end(lines) or _all_turns(lines)


def _is_as_far(lines: Lines, ended: Sequence[Lines]) -> bool:
    """Whether a rank made as many steps, by the counters that both printed, as the first that came to its end."""
    own, end = _progress(lines), _progress(ended[0]) if ended else {}
    shared = own.keys() & end.keys()
    return bool(shared) and all(own[name] == end[name] for name in shared)


def _all_turns(lines: Lines) -> bool:
    """Whether one of the last lines was printed once for every turn of the run, such as each of its epochs."""
    said = templates(lines)
    last = range(max(0, len(lines) - LAST), len(lines))
    return any(counted_out(lines[at].text, said.count(said[at])) for at in last)


def _progress(lines: Lines) -> dict[str, tuple[int | None, int]]:
    """How far a rank came, by each of its counters."""
    return {name: (last.epoch, last.step) for name, last in last_progress(lines).items()}


def stopped_apart(run: Run, timeline: Timeline, spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the last lines of ranks that went on beyond where others stopped, and of those, in a log that just ends.

    Empty where anything says how it ended, and where rank 0 is ahead: by convention it may print more.
    """
    if timeline.events or timeline.failures or any(process.traces for process in run.processes):
        return ()
    if len(spoken) < 2 or any(talk.process.rank is None for talk in spoken):
        return ()
    everyone = frozenset.intersection(*(talk.templates for talk in spoken))
    ends = [next((i for i in reversed(range(len(t.said))) if t.said[i] in everyone), None) for t in spoken]
    counts = [Counter(talk.said) for talk in spoken]
    if sum(min(count[said] for count in counts) for said in everyone) < ALIKE or None in ends:
        return ()
    ahead = [talk for talk, end in zip(spoken, ends, strict=True) if end is not None and end < len(talk.said) - 1]
    ahead = ahead or _more_often(spoken)
    behind = [talk for talk in spoken if talk not in ahead]
    if not ahead or not behind or any(talk.process.rank == 0 for talk in ahead):
        return ()
    if any(ends_run(talk.lines[-1].text) for talk in behind):
        return ()
    return tuple((talk.process, talk.lines[-1]) for talk in (*ahead, *behind))


def _more_often(spoken: Sequence[Talk]) -> list[Talk]:
    """Return the rank whose last line is one that it has said more often than any other came to say it."""
    most = most_often(spoken)
    return [talk for talk in spoken if most[talk.said[-1]] == (talk.said.count(talk.said[-1]), 1)]


class TakenUp(NamedTuple):
    """How a later try of a run goes on from an earlier one."""

    reached: Line
    """How far an earlier one came."""
    began: Line
    """Where a later one began."""
    anew: bool
    """Whether that is where the first one began too."""


def taken_up(tries: Sequence[Mapping[str, Sequence[Line]]]) -> TakenUp | None:
    """Return how a later try goes on from where an earlier one came to; of several, the first that begins anew.

    Steps of the training are held against one another where they are told, by the counter that is printed most, not
    what prepares it or is set. What came to its end was not to go on.
    """
    told = [[Lines.given(one) for one in lines.values()] for lines in tries]
    steps = [_steps(own) for own in told]
    usual = Counter(wording(part, at) for found in steps for _, part, at in found).most_common(1)
    reached: Line | None = None
    began: tuple[int, int] | None = None
    furthest: tuple[int, int] = (-1, -1)
    taken: TakenUp | None = None
    for own, found in zip(told, steps, strict=True):
        places = [one for one in found if wording(*one[1:]) == usual[0][0]]
        if not places:
            continue
        place, part, at = places[0]
        if began is not None and reached is not None and furthest > began:
            taken = TakenUp(reached, part.line(at), anew=place <= began)
            if taken.anew:
                return taken
        began = place if began is None else began
        top, part, at = max(places, key=lambda item: item[0])
        if any(map(_was_done, own)):
            reached, furthest = None, (-1, -1)
        elif top > furthest:
            furthest, reached = top, part.line(at)
    return taken


def _was_done(lines: Lines) -> bool:
    """Whether the last lines of a rank say that the run is done, or count through all of it and not of an epoch."""
    last = [lines[at : at + 1] for at in range(max(0, len(lines) - 5), len(lines))]
    counts = [count for one in last for count in last_progress(one).values() if count.total and count.epoch is None]
    return any(ends_run(one[0].text) for one in last) or any(count.step == count.total for count in counts)


def _steps(lines: Sequence[Lines]) -> list[tuple[tuple[int, int], FileExcerpt, int]]:
    """What lines say of the steps of the training; of any steps, where they say nothing of what was learnt in them.

    What is printed once is a setting where other lines come again.
    """
    found = [one for own in lines for one in counted(own.where(is_learning))]
    found = found or [one for own in lines for one in counted(own)]
    said = [say(part.line(at)).template for _, part, at in found]
    often = Counter(said)
    return [one for one, template in zip(found, said, strict=True) if often[template] > 1] or found


def stuck_again(first: Mapping[str, Sequence[Line]], last: Mapping[str, Sequence[Line]]) -> tuple[Line, Line] | None:
    """Return where a later try stopped, and how the first had gone on from there, if every rank stopped like that."""
    found: tuple[Line, Line] | None = None
    for key, lines in last.items():
        before = Lines.given(first.get(key, ()))
        said = templates(before)
        stopped = templates(Lines.given(lines[-1:])) if lines else ()
        at = said.index(stopped[0]) if stopped and stopped[0] in said else len(said)
        if lines and at + len(lines) >= len(said):
            return None
        if lines:
            found = found or (lines[-1], before[at + 1])
    return found


def questions(scans: Iterable[FileScan]) -> tuple[Quote, ...]:
    """Return the questions with which outputs end: a prompt does not end its line, for the answer comes behind it."""
    found: list[Quote] = []
    for scan in scans:
        last = scan.last.line(len(scan.last) - 1)
        if _QUESTION.search(last[-SEEN:]):
            line = scan.end_line + len(scan.last) - 1
            found.append(Quote(text=quote_text(last), path=scan.file.name, line=line, rank=scan.file.rank))
    return tuple(found)


def fallbacks(lines: Sequence[Line]) -> list[int]:
    """Return where the output of one process begins anew: its first line comes again, and its counters fall back."""
    if len(lines) < 2 * RESTART:
        return []
    lines = Lines.given(lines)
    said = templates(lines)
    again = [index for index, template in enumerate(said) if index and template == said[0]]
    cuts: list[int] = []
    for index in again if len(again) <= RESTART else ():
        before = [place for place, *_ in counted(lines[cuts[-1] if cuts else 0 : index])]
        after = [place for place, *_ in counted(lines[index:])]
        if before and after and after[0] <= before[0] < max(before):
            cuts.append(index)
    return cuts
