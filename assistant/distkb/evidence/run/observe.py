"""What the model of the run shows beyond single lines: how the ranks parted, and what a few of them said alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Observation
from distkb.evidence.run.columns import Cell, Column, columns
from distkb.evidence.run.otherwise import on_both_sides, other_names, other_orders, other_places, other_words
from distkb.evidence.run.paces import slower
from distkb.evidence.run.relations import IN_TROUBLE, RELATIONS, THROUGH_RUNS
from distkb.evidence.run.sayings import (
    Alone,
    Talk,
    alone,
    bare,
    by_members,
    decided_apart,
    last_differ,
    new_at_end,
    renamed,
    say,
    unequal,
)
from distkb.evidence.run.steps import counts_on
from distkb.evidence.run.timeline import line_quote, plain_quote, quote
from distkb.evidence.scanner.needs import Sought

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.observation import Source
    from distkb.evidence.run.ends import Silence, TakenUp
    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.parting import Parting
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sizes import Division
    from distkb.evidence.run.timeline import Event, Timeline

QUOTES = 6
LAST = 0.8
"""Certainty of what the last words of a rank say that others waited for, or of all where nobody says what failed."""
OF_TWO = 0.35
"""Certainty that rank 0 went another way than the rest where only one other rank is known."""
SPOKESMAN = 0.6
"""Certainty of a line that a rank printed alone before its last words: it may be the one that prints for all."""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What is concluded of a run before anything is believed about its cause."""

    first: Event | None
    """The first failure, where it is one rank's own."""
    explained: bool
    """Whether the rank that failed first printed a message that the catalogue knows as a failure."""
    parting: Parting | None
    """How the ranks parted, where no rank failed first."""
    spoken: tuple[Talk, ...]
    """What each rank said; of a console without ranks, what it said as a whole."""
    troubled: bool
    """Whether anything says that the run failed, froze or was ended: what a few said means nothing in a healthy one."""
    last: tuple[tuple[Process, Line], ...]
    """Last words of the ranks that left no failure."""
    completed: tuple[tuple[Process, Line], ...]
    """Lines that show that the run came to its end."""
    taken_up: TakenUp | None
    """How a later attempt, or the newest run of a file, goes on from where an earlier one came to."""
    stuck_again: tuple[Line, Line] | None = None
    """Where a later attempt stopped, and how the first had gone on from there."""
    stopped: tuple[tuple[Process, Line], ...] = ()
    """Last lines of ranks that went on beyond where the others stopped, and of those, where nothing says why."""
    read_before_written: tuple[Line, Line] | None = None
    """Where a rank read a file, and where another said later that it had made it."""
    began_apart: tuple[tuple[Process, Line], ...] = ()
    """The first epochs of ranks that began at different ones."""
    versions_apart: tuple[tuple[Process, Line], ...] = ()
    """Lines of two ranks that name one software in two versions."""
    resumed_behind: tuple[Line, Line] | None = None
    """The newest checkpoint that was saved, and the older one from which the run went on."""
    quiet: Silence | None = None
    """The silence before the run was ended from outside."""
    going: tuple[tuple[Process, Line], ...] = ()
    """The last line of a run that was ended from outside while it still went."""
    divided: tuple[Division, tuple[Line, ...]] | None = None
    """How often the data was divided over the ranks where that is not once, and the lines that show it."""
    shorter_limit: tuple[Line, Event] | None = None
    """A time limit that the run stated, and a wait that ended long before it."""
    through: tuple[Talk, ...] = ()
    """What each rank said in the runs before it in the same file and then in this one, where there are such."""


def first_failure(timeline: Timeline, failed_first: bool) -> Event | None:
    """Return the failure of the rank that failed by itself before the others waited in vain.

    The places of the others are then only where it left them. An error counts where it ended the rank and
    `failed_first` says that it was the only one of its own.
    """
    first = next((event for event in timeline.events if event.kind != "echo"), None)
    if first is None or first.rank is None:
        return None
    if first.kind == "signal":
        return first if first is timeline.events[0] else None
    ended = (
        first.kind == "own"
        or first.trace is not None
        or any(f.rank == first.rank and f.root for f in timeline.failures)
    )
    return first if failed_first and ended else None


_OTHERWISE = {
    "run.other-names": other_names,
    "run.other-orders": other_orders,
    "run.other-places": other_places,
}


def observe(model: Model, signatures: Sequence[Signature], timeline: Timeline) -> list[Observation]:
    """Return the observations that the model of the run shows."""
    # Files of which nobody knows whose they are may hold runs that came one after another.
    sides = [model.spoken] if all(t.process.rank is not None for t in model.spoken) else [(t,) for t in model.spoken]
    compared = sides[0] if len(sides) == 1 else ()
    few = alone(compared) if model.troubled else ()
    ranked = [talk for talk in model.spoken if talk.process.rank is not None] or model.spoken
    everyone = frozenset.intersection(*(talk.templates for talk in ranked)) if len(ranked) > 1 else ()
    ends = Counter(talk.said[-1] for talk in model.spoken)
    words = [
        (process, line)
        for process, line in model.last
        if (template := say(line).template) not in everyone
        or ((model.quiet is not None or ends[template] == 1) and _ends_with(process, line, model))
    ]
    related = [one.pattern for one in signatures if not RELATIONS.keys().isdisjoint(one.where)]
    sought = Sought([one.pattern for one in signatures if not _PLACES.isdisjoint(one.where)])
    numbers = [one for side in sides for one in _related(side, related, sought)]
    through = [one for talk in model.through for one in _related((talk,), related, sought)]
    differing = last_differ(compared) if model.troubled else ()
    uneven = unequal(compared) if model.troubled else ()
    found = [*_parted(model.parting), *_first(model, timeline), *_alone(few, timeline), *_ended(model, timeline)]
    found += _members(compared, timeline) if model.troubled else []
    found += _lines("run.still-counting", [one for one in words[-1:] if counts_on(bare(one[1]))], timeline)
    spoken_for: dict[tuple[str | None, str, int], str] = {}
    for signature in sorted(signatures, key=lambda one: -one.precedence):
        places = set(signature.where) - (set() if model.troubled else IN_TROUBLE)
        relations = [(place, relation) for place, relation in RELATIONS.items() if place in places]
        if not relations and places.isdisjoint(LINES):
            continue
        mine = partial(_speaks, signature, spoken_for, sought)
        said = [one for one in few if "alone" in signature.where and mine(one.saying.line)]
        found += _said(signature.id, said, timeline)
        often = [one for one in uneven if mine(one[1].line)] if "unequal" in signature.where else []
        if often and not said:
            quotes = tuple(line_quote(saying.line, process, timeline) for process, saying in often[:QUOTES])
            found.append(Observation(id=signature.id, source="log", certainty=SPOKESMAN, quotes=quotes))
        elif "last" in signature.where and not said:
            last = [line_quote(line, process, timeline) for process, line in words if mine(line)]
            found += [Observation(id=signature.id, source="log", certainty=LAST, quotes=tuple(last[:QUOTES]))] * bool(
                last
            )
        apart = differing if "last-differs" in signature.where else ()
        if "last-renamed" in signature.where and renamed(differing):
            apart = differing
        if apart and all(sought.finds(signature.pattern, line.text) for _, line in apart):
            quotes = tuple(line_quote(line, process, timeline) for process, line in apart[:QUOTES])
            found.append(Observation(id=signature.id, source="log", quotes=quotes))
        for place, relation in relations:
            asked = [*through, *numbers] if place in THROUGH_RUNS else numbers
            shown = [column for column in asked if sought.finds(signature.pattern, column.context) and relation(column)]
            found += [_side_by_side(signature.id, column, timeline) for column in shown[:1]]
    for name, otherwise in _OTHERWISE.items():
        found += _lines(name, otherwise(compared), timeline)
    for signature in signatures if model.troubled else ():
        if "on-both-sides" in signature.where:
            found += _lines(signature.id, on_both_sides(compared, signature.pattern), timeline)
    found += _other_words(signatures, sought, compared, timeline)
    found += _lines("run.slows-down", slower(model.spoken), timeline)
    if not model.completed:
        found += _lines("run.decided-apart", decided_apart(compared), timeline)
    return _quieted(found, model, signatures, spoken_for, timeline)


def _related(side: Sequence[Talk], patterns: Sequence[str], sought: Sought) -> tuple[Column, ...]:
    """The columns of numbers of which a signature asks something."""
    return columns(side, lambda context: any(sought.finds(pattern, context) for pattern in patterns))


def _quieted(
    found: list[Observation],
    model: Model,
    signatures: Sequence[Signature],
    spoken_for: Mapping[tuple[str | None, str, int], str],
    timeline: Timeline,
) -> list[Observation]:
    """Return the observations with what stood at the end of a run that had fallen silent."""
    if model.quiet is None:
        return found
    if _slows(found, signatures) and model.quiet.certainty < 1.0:
        # Without times only that somebody stopped it speaks for a silence: so does a run that goes ever more slowly.
        return [one for one in found if one.id != "run.quiet-before-end"]
    if model.parting is None:
        known = {(path, number) for _, path, number in spoken_for}
        news = [one for one in new_at_end(model.spoken) if (one[1].path, one[1].number) not in known]
        found += _lines("run.stopped-at-news", news, timeline)
    return found


def _slows(found: Sequence[Observation], signatures: Sequence[Signature]) -> bool:
    """Whether a number shows that the run went ever more slowly."""
    names = {signature.id for signature in signatures if "slows" in signature.where}
    return any(one.id in names for one in found)


LINES = frozenset({"alone", "last", "last-differs", "last-renamed", "unequal"})
"""Where signatures look at lines of several ranks."""


_PLACES = LINES | RELATIONS.keys() | {"other-word"}


def _speaks(
    signature: Signature, spoken_for: dict[tuple[str | None, str, int], str], sought: Sought, line: Line
) -> bool:
    """Whether a line is of this kind: it is of one kind of a group only, the first that was asked."""
    if not sought.finds(signature.pattern, line.text):
        return False
    return signature.group is None or (
        spoken_for.setdefault((signature.group, line.path, line.number), signature.id) == signature.id
    )


def _ends_with(process: Process, line: Line, model: Model) -> bool:
    """Whether it is the last line of a rank, after which the others said more."""
    return any(talk.process is process and talk.lines[-1] == line for talk in model.spoken)


_OWN_PATH = re.compile(
    r"(?i)(?:^|[/\\_.-])(?:rank|worker|process|proc|gpu|device|dev|replica|local|member)[_-]?(\d{1,6})(?=[/\\_.-])"
)
"""The number of a rank in a part of a path."""
_FIRST = {"signal": "run.killed-first", "own": "run.raised-first", "other": "run.failed-first"}


def _first(model: Model, timeline: Timeline) -> list[Observation]:
    """The first failure that is nobody's echo: what came after it is its consequence."""
    first = model.first
    if first is None:
        return []
    name = "run.raised-unknown" if first.kind == "own" and not model.explained else _FIRST[first.kind]
    echoes = [event for event in timeline.events if event.kind == "echo" and event.process != first.process]
    quotes = tuple(quote(event, timeline) for event in (first, *echoes[:2]))
    found = [Observation(id=name, source="log", quotes=quotes)]
    if any(int(number[1]) == first.rank for number in _OWN_PATH.finditer(first.text)):
        found.append(Observation(id="run.failed-at-own-path", source="log", quotes=quotes[:1]))
    return found


def _ended(model: Model, timeline: Timeline) -> list[Observation]:
    found: list[Observation] = []
    if model.completed:
        quotes = tuple(line_quote(line, process, timeline) for process, line in model.completed[:QUOTES])
        found.append(Observation(id="run.completed", source="log", quotes=quotes))
    if model.stopped and model.parting is None:
        quotes = tuple(line_quote(line, process, timeline) for process, line in model.stopped[:QUOTES])
        found.append(Observation(id="run.stopped-apart", source="log", quotes=quotes))
    for name, apart in (("run.began-apart", model.began_apart), ("run.versions-differ", model.versions_apart)):
        if apart:
            quotes = tuple(line_quote(line, process, timeline) for process, line in apart)
            found.append(Observation(id=name, source="log", quotes=quotes))
    if model.taken_up is not None:
        quotes = tuple(plain_quote(line, timeline) for line in model.taken_up[:2])
        found.append(Observation(id="run.started-over", source="log", present=model.taken_up.anew, quotes=quotes))
    for name, lines in (
        ("run.stuck-again", model.stuck_again),
        ("run.resumed-behind", model.resumed_behind),
        ("run.read-before-written", model.read_before_written),
    ):
        if lines is not None:
            quotes = tuple(plain_quote(line, timeline) for line in lines)
            found.append(Observation(id=name, source="log", quotes=quotes))
    if model.divided is not None:
        often, shown = model.divided
        quotes = tuple(plain_quote(line, timeline) for line in shown)
        found.append(Observation(id=f"run.data-divided-{often}", source="log", quotes=quotes))
    if model.quiet is not None and model.parting is None:
        quotes = (line_quote(model.quiet.line, model.quiet.process, timeline), model.quiet.end)
        certainty = model.quiet.certainty
        found.append(Observation(id="run.quiet-before-end", source="log", certainty=certainty, quotes=quotes))
    found += _lines("run.going-at-end", model.going, timeline)
    if model.shorter_limit is not None:
        line, event = model.shorter_limit
        quotes = (plain_quote(line, timeline), quote(event, timeline))
        found.append(Observation(id="run.shorter-limit", source="log", quotes=quotes))
    return found


def _parted(parting: Parting | None) -> list[Observation]:
    if parting is None:
        return []
    quotes = (*(p.quote for p in parting.odd[:3]), *(p.quote for p in parting.main[:3]))
    dumped = all(p.how == "stack" for p in (*parting.odd, *parting.main))
    source: Source = "probe" if dumped else "log"
    reader = "stacks" if dumped else ""
    found = [Observation(id=f"run.{parting.way}", source=source, reader=reader, quotes=quotes)]
    if min(len(parting.odd), len(parting.main)) > 1:
        found.append(Observation(id="run.several-on-each-side", source=source, reader=reader, quotes=quotes))
    if parting.first_alone:
        certainty = 1.0 if parting.several else OF_TWO
        found.append(
            Observation(id="run.rank-0-parted-alone", source=source, reader=reader, certainty=certainty, quotes=quotes)
        )
    elif parting.first_among_others:
        found.append(Observation(id="run.rank-0-parted-alone", source=source, reader=reader, present=False))
    return found


def _alone(few: Sequence[Alone], timeline: Timeline) -> list[Observation]:
    last = [one for one in few if one.last and not one.again]
    return _said("run.last-words-alone", last, timeline)


def _lines(name: str, lines: Sequence[tuple[Process, Line]], timeline: Timeline) -> list[Observation]:
    quotes = tuple(line_quote(line, process, timeline) for process, line in lines[:QUOTES])
    return [Observation(id=name, source="log", quotes=quotes)] if quotes else []


def _other_words(
    signatures: Sequence[Signature], sought: Sought, spoken: Sequence[Talk], timeline: Timeline
) -> list[Observation]:
    """What the words are that ranks say otherwise."""
    other = other_words(spoken)
    return [
        found
        for signature in signatures
        for words in other
        if "other-word" in signature.where and all(sought.finds(signature.pattern, one.word) for one in words)
        for found in _lines(signature.id, [(one.process, one.line) for one in words], timeline)
    ]


def _members(spoken: Sequence[Talk], timeline: Timeline) -> list[Observation]:
    return _lines("run.said-by-members", by_members(spoken), timeline)


def _said(name: str, few: Sequence[Alone], timeline: Timeline) -> list[Observation]:
    if not few:
        return []
    quotes = tuple(line_quote(one.saying.line, one.process, timeline) for one in few[:QUOTES])
    certainty = 1.0 if any(one.last for one in few) else SPOKESMAN
    return [Observation(id=name, source="log", certainty=certainty, quotes=quotes, count=len(few))]


def _side_by_side(name: str, column: Column, timeline: Timeline) -> Observation:
    """Quote the last line of each rank, one rank for each value first."""
    first: dict[str, tuple[Process, Cell]] = {}
    rest: list[tuple[Process, Cell]] = []
    for process, cells in column.ranks:
        one = process, cells[-1]
        if first.setdefault(one[1].text, one) is not one and len(rest) < QUOTES:
            rest.append(one)
        if len(first) >= QUOTES:
            break
    shown = (*first.values(), *rest)[:QUOTES]
    return Observation(
        id=name, source="log", quotes=tuple(line_quote(cell.line, process, timeline) for process, cell in shown)
    )
