"""The run seen from near: its own lines, chosen and put together for those who read them themselves."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Closeup, Odd, Passage, PassageLine, Quote, Said, Stand
from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.run.relations import MOST_COMPARED
from distkb.evidence.run.sayings import Talk, say, talks
from distkb.evidence.run.timeline import line_quote
from distkb.evidence.run.turns import turns
from distkb.evidence.run.work import LAUNCHER
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from distkb.evidence.run.positions import Position
    from distkb.evidence.run.processes import Run, Trace
    from distkb.evidence.run.sayings import Alone
    from distkb.evidence.run.timeline import Event, Timeline

MOST_FAILURES, MOST_STANDS, MOST_SAID = 8, 24, 400
"""Different failures, places and lines that are kept."""
ALSO, MOST_ALSO = 3, 64
"""Other numbers of one line that are kept, and ranks of which they are looked at."""
AGAIN = 3
"""Times from which a line with numbers belongs to the course of a rank."""
TABLES, POINTS = 3, 8
"""Kinds of such lines that are shown, and how many of each."""
FRAMES, INNER, SHOWN, MESSAGE = 12, 10, 2, 12
"""Frames of the user's, innermost frames of all, those of them that are shown with their code, and lines of a message
that a traceback is told with."""
RANK_OPENING, RANK_END = 20, 80
"""Lines of the beginning and of the end of the output of a rank that was asked for."""
TIMED = 20
"""Lines at each end of an output in which a time is looked for."""
TROUBLE = re.compile(
    r"(?i)warn|err(?:or|no)|exception|fail|fatal|abort|kill|time[ds]?[ -]?out|retr(?:y|ies)|mismatch|overflow|skip"
    r"|\bnan\b|\binf\b|\boom\b|out of memory|corrupt|missing|not found|invalid|refused|resum|restor|evict|preempt"
)
"""Words of lines that are shown before others."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a closeup is to show besides what it always shows."""

    rank: int | None = None
    """The output of this rank."""


def closeup(
    run: Run,
    timeline: Timeline,
    places: Sequence[Position],
    few: Sequence[Alone],
    world: int | None,
    wish: Wish,
) -> Closeup:
    """Choose the lines of a run that decide."""
    printed = _printed(run)
    spoken = talks(run.processes, printed)
    start, end = _span(spoken, timeline)
    return Closeup(
        files=len(run.scans),
        lines=sum(scan.lines for scan in run.scans),
        world=world,
        attempt=run.attempt,
        start=start,
        end=end,
        failures=(*_failures(timeline), *_stopped(run, timeline))[:MOST_FAILURES],
        stands=tuple(_stands(places)),
        said=tuple(_said(spoken, few, timeline)),
        course=tuple(_course(spoken, timeline)),
        odd=tuple(_odd([talk for talk in spoken if talk.process.rank is not None], timeline)),
        rank=() if wish.rank is None else tuple(_output(run, printed, wish.rank)),
    )


def _printed(run: Run) -> dict[str, Lines]:
    """All lines of each process that are known, but for its tracebacks; what a console repeats once."""
    whole: dict[str, Lines] = {}
    launched = {(trace.path, trace.line + index) for trace in run.launcher for index in trace.chain.consumed}
    for process in run.processes:
        taken = {
            (trace.path, trace.line + index) for trace in process.traces for index in trace.chain.consumed
        } | launched
        lines = process.opening + process.tail
        if process.whole:
            lines = lines.outside(run.consoles)
        if taken:
            kept = (part.some([i for i in part.at if part.place(i) not in taken]) for part in lines.parts)
            lines = Lines(kept)
        whole[process.key] = lines
    return whole


def _span(spoken: Sequence[Talk], timeline: Timeline) -> tuple[Quote | None, Quote | None]:
    """Return the earliest and the latest line that carries a time."""

    def timed(talk: Talk, lines: Iterable[Line]) -> Iterator[Quote]:
        line = next((line for line in lines if line.stamp is not None), None)
        if line is not None and timeline.times.of(line.stamp) is not None:
            yield line_quote(line, talk.process, timeline)

    first = [quote for talk in spoken for quote in timed(talk, talk.lines[:TIMED])]
    last = [quote for talk in spoken for quote in timed(talk, reversed(list(talk.lines[-TIMED:])))]
    if not first or not last:
        return None, None
    return min(first, key=lambda quote: quote.time or 0.0), max(last, key=lambda quote: quote.time or 0.0)


def _failures(timeline: Timeline) -> Iterator[Passage]:
    groups: dict[tuple[object, ...], list[Event]] = {}
    once: dict[tuple[str, int], Event] = {}
    for event in timeline.events:
        once.setdefault((event.path, event.line), event)
    for event in sorted(once.values(), key=lambda one: one.kind == "echo"):
        groups.setdefault(_alike(event), []).append(event)
    for events in groups.values():
        first = events[0]
        trace = first.trace
        yield Passage(
            path=first.path,
            rows=(PassageLine(number=first.line, text=first.text),) if trace is None else tuple(_told(trace)),
            ranks=tuple(sorted({event.rank for event in events if event.rank is not None})),
            time=timeline.time(first),
        )


def _stopped(run: Run, timeline: Timeline) -> Iterator[Passage]:
    """Where the ranks were that left a traceback and no failure: they were stopped there."""
    failed = {event.process for event in timeline.events}
    groups: dict[object, tuple[Trace, list[int]]] = {}
    for process in run.processes:
        if process.traces and process.key not in failed:
            trace = process.traces[0]
            places = tuple((frame.path, frame.line) for frame in trace.chain.first.frames)
            ranks = groups.setdefault(places, (trace, []))[1]
            ranks += [] if process.rank is None else [process.rank]
    for trace, ranks in groups.values():
        yield Passage(path=trace.path, rows=tuple(_told(trace)), ranks=tuple(sorted(ranks)))


def _alike(event: Event) -> tuple[object, ...]:
    inner = event.frames[-1] if event.frames else None
    return event.kind, event.label, inner and (inner.path, inner.line)


def _told(trace: Trace) -> Iterator[PassageLine]:
    """The lines of a traceback that tell something: the user's frames, the innermost others, and what was raised."""
    wanted: dict[int, None] = {0: None}
    for raised in trace.chain.raised:
        mine = [frame for frame in raised.frames if frame.user][-FRAMES:]
        wanted.update(dict.fromkeys(frame.at for frame in (*mine, *raised.frames[-INNER:])))
        wanted.update(dict.fromkeys(frame.at + 1 for frame in (*mine, *raised.frames[-SHOWN:])))
        if raised.at >= 0:
            wanted.update(dict.fromkeys(range(raised.at, raised.at + MESSAGE)))
    for index in sorted(wanted):
        if index in trace.chain.consumed and 0 <= index < len(trace.texts) and trace.texts[index].strip():
            yield PassageLine(number=trace.line_of(index), text=quote_text(trace.texts[index]))


def _stands(places: Sequence[Position]) -> Iterator[Stand]:
    groups: dict[object, list[Position]] = {}
    for one in places:
        groups.setdefault((one.spot, one.waits), []).append(one)
    ordered = sorted(groups.values(), key=len)
    for members in ordered[:MOST_STANDS]:
        one = members[0]
        yield Stand(
            ranks=tuple(sorted(place.rank for place in members if place.rank is not None)),
            waits=one.waits,
            call=quote_text(one.place.op),
            frames=tuple(
                Quote(
                    text=quote_text(f"{f.function}: {f.source}" if f.source else f.function), path=f.path, line=f.line
                )
                for f in one.frames
            ),
            seen=one.quote,
        )


class _Template(msgspec.Struct):
    """One line apart from its numbers, over all ranks."""

    places: list[tuple[Talk, int]] = []
    """Where it was printed first by each of some ranks, and then again by the first of them."""
    times: int = 0
    most: int = 0
    """How often the rank printed it that did so most."""
    ranks: list[int] = []
    last: bool = False


def _said(spoken: Sequence[Talk], few: Sequence[Alone], timeline: Timeline) -> list[Said]:
    found: dict[str, _Template] = {}
    for talk in spoken:
        rank = talk.process.rank
        first: dict[str, int] = {}
        for index, template in enumerate(talk.said):
            first.setdefault(template, index)
        for template, times in Counter(talk.said).items():
            one = found.setdefault(template, _Template())
            one.times += times
            if len(one.places) < MOST_ALSO:
                one.places.append((talk, first[template]))
            one.most = max(one.most, times)
            if rank is not None:
                one.ranks.append(rank)
            one.last = one.last or talk.said[-1] == template
    alone = {one.saying.template for one in few}
    rare = {
        template: one
        for template, one in found.items()
        if one.most < AGAIN or "#" not in template or template in alone or TROUBLE.search(template)
    }
    ordered = sorted(rare.items(), key=lambda item: _weight(item[0], item[1], alone, len(spoken)))[:MOST_SAID]
    return [
        Said(
            quote=quotes[0],
            ranks=tuple(one.ranks),
            times=one.times,
            also=tuple(quotes[1 : 1 + ALSO]),
            alone=template in alone,
            last=one.last,
        )
        for template, one in ordered
        for quotes in (_variants(template, one, timeline),)
    ]


def _variants(template: str, one: _Template, timeline: Timeline) -> list[Quote]:
    """The line as it was printed with different numbers."""
    talk, at = one.places[0]
    again = () if one.most < 2 else [(talk, n) for n, said in enumerate(talk.said) if said == template and n != at]
    found: dict[tuple[str, ...], Quote] = {}
    for whose, index in (*one.places, *again[-ALSO:]):
        line = whose.lines[index]
        numbers = say(line).numbers
        if numbers not in found:
            found[numbers] = line_quote(line, whose.process, timeline)
            if len(found) > ALSO:
                break
    return list(found.values())


def _weight(template: str, one: _Template, alone: set[str], writers: int) -> tuple[bool, ...]:
    """What only some ranks said comes first, then what speaks of trouble, then what somebody said last."""
    info = "INFO" in template and TROUBLE.search(template) is None
    some = bool(one.ranks) and 2 * len(one.ranks) <= writers
    return info, template not in alone, TROUBLE.search(template) is None, not some, not one.last


def _course(spoken: Sequence[Talk], timeline: Timeline) -> Iterator[Quote]:
    """What the first rank that counts printed again and again, at the points where its numbers turn."""
    for talk in sorted(spoken, key=lambda one: (one.process.rank is None, one.process.rank or 0)):
        often = [
            (template, times)
            for template, times in Counter(talk.said).most_common(TABLES)
            if times >= AGAIN and "#" in template and not LAUNCHER.search(talk.lines[talk.said.index(template)].text)
        ]
        for template, _ in often:
            places = [index for index, said in enumerate(talk.said) if said == template]
            columns = [
                list(map(_value, talk.numbers(places, number)))
                for number in range(template.count("#"))
                if talk.all_have(places, number)
            ]
            for at in turns(columns, len(places), POINTS):
                yield line_quote(talk.lines[places[at]], talk.process, timeline)
        if often:
            return


def _value(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _odd(spoken: Sequence[Talk], timeline: Timeline) -> Iterator[Odd]:
    """Numbers of the last line of each kind that one rank has otherwise than nearly all of the others."""
    spoken = spoken[:: max(1, len(spoken) // MOST_COMPARED)]
    tables: dict[str, list[tuple[Talk, int]]] = {}
    for talk in spoken:
        last = {template: index for index, template in enumerate(talk.said) if "#" in template}
        for template, index in last.items():
            tables.setdefault(template, []).append((talk, index))
    for template, rows in tables.items():
        apart: dict[tuple[int, ...], list[tuple[str, str]]] = {}
        for number in range(template.count("#")) if len(rows) > 2 else ():
            values = [(talk, index, talk.number(index, number)) for talk, index in rows]
            usual, mine = _apart(values)
            if mine:
                whose = tuple(rows.index((talk, index)) for talk, index, _ in mine)
                apart.setdefault(whose, []).append((mine[0][2], usual))
        for whose, found in apart.items():
            talk, index = rows[whose[0]]
            yield Odd(
                number=", ".join(own for own, _ in found),
                ranks=tuple(rank for at in whose if (rank := rows[at][0].process.rank) is not None),
                usual=", ".join(usual for _, usual in found),
                quote=line_quote(talk.lines[index], talk.process, timeline),
            )


_Value = tuple[Talk, int, str]
"""A number with the line in which it stands."""


def _apart(values: Sequence[_Value]) -> tuple[str, list[_Value]]:
    """What nearly all ranks have, and the numbers that are others; nothing where there is no such thing."""
    (usual, times), *others = Counter(text for _, _, text in values).most_common()
    if others and len(values) - times <= max(1, len(values) // 8):
        return usual, [value for value in values if value[2] != usual]
    return _outstanding(values)


def _outstanding(values: Sequence[_Value]) -> tuple[str, list[_Value]]:
    """The number that is several times all others, and the greatest of these."""
    ordered = sorted(values, key=lambda one: abs(_value(one[2])))
    top, second = abs(_value(ordered[-1][2])), abs(_value(ordered[-2][2]))
    return (ordered[-2][2], [ordered[-1]]) if top >= 3 * max(second, 1e-9) and second > 0 else ("", [])


def _output(run: Run, printed: Mapping[str, Lines], rank: int) -> Iterator[Passage]:
    """The beginning and the end of what one rank printed."""
    for process in run.processes:
        if process.rank != rank:
            continue
        lines = printed.get(process.key, Lines())
        picked = [*lines[: min(RANK_OPENING, max(0, len(lines) - RANK_END))], *lines[-RANK_END:]]
        files: dict[str, list[PassageLine]] = {}
        for line in picked:
            files.setdefault(line.path, []).append(PassageLine(number=line.number, text=quote_text(line.text)))
        for path, rows in files.items():
            yield Passage(path=path, rows=tuple(rows), ranks=(rank,))
