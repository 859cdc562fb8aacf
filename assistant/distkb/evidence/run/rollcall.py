"""The roll call: what became of every rank of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.evidence.observation import RankState
from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.run.steps import ends_run
from distkb.evidence.run.timeline import line_quote, quote
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.ranks import MOST_RANKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.evidence.run.positions import Position
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.timeline import Event, Timeline

SOURCES = 4
BY_NAME = 0.8
"""Certainty of a rank that no line says."""
MOST_SILENT = 1 << 12
"""Ranks of which nothing is known that are listed: more tell nobody anything, and each is written several times."""


def roll_call(
    processes: Sequence[Process],
    timeline: Timeline,
    places: Sequence[Position],
    work: Mapping[str, Sequence[Line]],
    world: int | None,
    *,
    open_lines: bool = False,
    done: bool = False,
) -> tuple[RankState, ...]:
    """Return the state of every rank from 0 to the last that is known of, or to the world size.

    `done`: the run came to its end, whichever rank says so.
    Where `open_lines` were printed by ranks that nothing tells, a rank of which nothing is known is left out: they may
    be its own. So is it where there are very many of those.
    """
    by_rank = {process.rank: process for process in processes if process.rank is not None}
    stands = {place.rank: place for place in places if place.rank is not None}
    events: dict[int, list[Event]] = {}
    for event in timeline.events:
        if event.rank is not None:
            events.setdefault(event.rank, []).append(event)
    known = by_rank.keys() | stands.keys() | events.keys()
    if not known:
        return ()
    last = max([(world or 0) - 1, *(rank for rank in known if rank < MOST_RANKS)])
    listed = known if last - len(known) >= MOST_SILENT else {*range(last + 1), *known}
    states = (
        _state(rank, by_rank.get(rank), stands.get(rank), events.get(rank, ()), timeline, work, done=done)
        for rank in sorted(listed)
    )
    own_file = {rank for rank, process in by_rank.items() if process.whole}
    return tuple(one for one in states if one.state != "missing" or not open_lines or one.rank in own_file)


def _state(
    rank: int,
    process: Process | None,
    place: Position | None,
    events: Sequence[Event],
    timeline: Timeline,
    work: Mapping[str, Sequence[Line]],
    *,
    done: bool,
) -> RankState:
    lines = work.get(process.key, ()) if process is not None else ()
    last = line_quote(lines[-1], process, timeline) if process is not None and lines else None
    sources = Lines.given(lines).paths()[:SOURCES]
    certainty = 1.0 if process is None or process.said or events else BY_NAME
    own = next((event for event in events if event.kind != "echo"), None)
    where = _where(place) if place is not None else ""
    if own is not None:
        return RankState(
            rank=rank,
            state="killed" if own.kind == "signal" else "failed",
            place=where,
            last=quote(own, timeline),
            sources=sources,
            certainty=certainty,
        )
    if place is not None and place.died:
        return RankState(rank=rank, state="failed", place=where, last=place.quote, sources=sources, certainty=certainty)
    if place is not None or events:
        waits = place is None or place.waits or place.place.kind == "thread"
        return RankState(
            rank=rank,
            state="waits" if waits else "works",
            place=where,
            last=last,
            sources=sources or ((place.quote.path or "",) if place is not None else ()),
            certainty=certainty,
        )
    if last is None:
        return RankState(rank=rank, state="missing", sources=sources, certainty=certainty)
    done = done or any(ends_run(line.text) for line in lines[-3:])
    return RankState(rank=rank, state="done" if done else "silent", last=last, sources=sources, certainty=certainty)


def _where(place: Position) -> str:
    inner = place.frames[-1]
    file = inner.path.replace("\\", "/").rpartition("/")[2]
    call = quote_text(inner.source) if inner.source else place.place.op or inner.function
    return f"{call} ({file}:{inner.line})"
