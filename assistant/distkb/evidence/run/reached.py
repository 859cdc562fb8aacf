"""How far the ranks came: the last step of each beside those of the others, and whether there were several."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.run.lines import Lines
from distkb.evidence.run.sayings import templates
from distkb.evidence.run.steps import Progress, counted, last_progress, says_finished
from distkb.evidence.run.timeline import Timeline, line_quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process, Run

QUOTES = 6
STEPS = "run.steps-made"


def _found(name: str, quotes: Sequence[Quote]) -> Observation:
    return Observation(id=name, source="log", quotes=tuple(quotes)[:QUOTES])


def last_steps(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> Observation | None:
    """Whether the ranks stopped at one step, or at different ones."""
    if any(event.kind != "echo" for event in timeline.events):
        return None  # where one rank died, the others print on until they notice
    if not timeline.events and all(finished(process) for process in run.ranked):
        return None  # uneven or not, everyone came to the end
    counters: list[tuple[Process, dict[str, Progress]]] = []
    work = _alike({process.key: work[process.key] for process in run.ranked})
    for process in run.ranked:
        lines = work[process.key]
        if lines and (progress := last_progress(lines, bare=True)):
            counters.append((process, progress))
    if len(counters) < 2 or len(counters) < len([p for p in run.ranked if p.tail]):
        return None
    waited = any(event.delay or not event.gone for event in timeline.events if event.kind == "echo")
    shared = set.intersection(*(set(progress) for _, progress in counters))
    wordings = sorted(shared, key=lambda word: (word == "epoch", len(word)))
    for wording in wordings:
        places = [((p[wording].epoch or 0), p[wording].step) for _, p in counters]
        totals = {p[wording].total for _, p in counters}
        differ = max(places) != min(places) or (len(totals) > 1 and None not in totals)
        if differ if waited else _far_apart(places):
            ends = [counters[places.index(min(places))], counters[places.index(max(places))]]
            ordered = sorted(counters, key=lambda one: 0 if one[0] is ends[0][0] else 1 if one[0] is ends[1][0] else 2)
            return _found("logs.last-step-differs", _step_quotes(wording, ordered, timeline, work))
    if not waited or not wordings:
        return None
    return _found("logs.last-step-same", _step_quotes(wordings[0], counters, timeline, work))


_LEARNS = re.compile(
    r"(?i)loss|\blr\b|learning.rate|grad|reward|acc(?:uracy)?\b|\b[rn]?m[as]e\b|\bnll\b|ppl|perplexity|tok(?:en)?s?/s|samples/s|it/s|s/it"
)
_BAR = re.compile(r"\| *\d+/\d+ *\[\d")
_PREPARES = re.compile(
    r"(?i)^\W*(?:load|fetch|download|map|filter|token|generat|cast|sav|sort|group|pack|cach|process|prepar|convert|inferenc"
    r"|eval|validat|test|index|build|creat|compil|captur|materializ|read|writ|upload|unpack|extract|sharding|resolv|import)"
)
"""What bars are called that count something before or beside the steps of the training."""
MADE = 3
"""Steps or epochs that a rank printed with what it learnt in them, after which the run is past its first step."""


def steps_made(run: Run, timeline: Timeline, work: Mapping[str, Lines]) -> Observation | None:
    """Whether a rank printed one step after another."""
    for process in run.processes:
        made = list(islice(learnt(work.get(process.key, Lines()), MADE), MADE))
        if len(made) == MADE:
            quotes = tuple(line_quote(line, process, timeline) for _, line in made)
            return _found(STEPS, quotes)
    return None


def learnt(lines: Lines, row: int) -> Iterator[tuple[tuple[int, int], Line]]:
    """Yield epoch and step of the lines that tell of one step after another, from the first row of this length on."""
    made: list[tuple[tuple[int, int], Line]] = []
    for count, part, at in counted(lines.where(is_learning)):
        if made and made[-1][0] >= count:
            made = []
        made.append((count, part.line(at)))
        if len(made) >= row:
            yield from made if len(made) == row else made[-1:]


def is_learning(text: str) -> bool:
    """Whether a line tells what was learnt in a step; bars of what is prepared before or beside the steps do not."""
    return _LEARNS.search(text) is not None and not (_BAR.search(text) and _PREPARES.search(text))


def _alike(work: Mapping[str, Lines]) -> dict[str, Lines]:
    """The lines that every process printed which printed any: only those tell how far one came beside another."""
    said = {key: templates(lines) for key, lines in work.items()}
    printed = [frozenset(own) for own in said.values() if own]
    shared = frozenset.intersection(*printed) if printed else frozenset()
    return {
        key: lines.pick([index for index, template in enumerate(said[key]) if template in shared])
        for key, lines in work.items()
    }


def finished(process: Process) -> bool:
    """Whether the last lines of a process say that it came to an end."""
    return any(says_finished(line.text) for line in process.tail[-3:])


def _step_quotes(
    wording: str,
    counters: Sequence[tuple[Process, dict[str, Progress]]],
    timeline: Timeline,
    work: Mapping[str, Lines],
) -> list[Quote]:
    return [line_quote(work[process.key][p[wording].index], process, timeline) for process, p in counters]


def _far_apart(places: Sequence[tuple[int, int]]) -> bool:
    """Whether ranks that were cut off at one moment differ by more than the step they were in."""
    return len({epoch for epoch, _ in places}) == 1 and max(places)[1] - min(places)[1] >= 2
