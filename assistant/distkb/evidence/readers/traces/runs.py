"""From checkpoints to ranks: the newest run, each rank's way through the program, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from distkb.evidence.readers.traces.files import TraceFile, TraceFrame
from distkb.evidence.readers.traces.mark import Mark, Operation
from distkb.evidence.text.ranks import MOST_RANKS

State = Literal["waiting", "ended", "failed"]
Place = tuple[str, str, int]
"""Key of a checkpoint and how many times the rank has been there, counted from 1."""


class RankTrace(msgspec.Struct, frozen=True, kw_only=True):
    """How far one rank came."""

    rank: int
    places: tuple[Place, ...]
    names: tuple[str, ...]
    """What the places are called for people."""
    last: Mark
    """The last checkpoint; the last line of any kind for a rank that never came to one."""
    state: State
    error: str = ""
    end: Mark | None = None
    quiet: Mark | None = None
    frames: tuple[TraceFrame, ...] = ()
    steps: int | None = None

    @property
    def place(self) -> Place:
        """Where it stands, for comparison with other ranks."""
        return self.places[-1] if self.places else ("", "", 0)

    @property
    def inside(self) -> Operation:
        """What the rank is inside of, where its last line says so."""
        return self.last.operation if self.state == "waiting" else ""


class TracedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a job."""

    ranks: tuple[RankTrace, ...] = ()
    world: int | None = None
    worlds: dict[int, tuple[int, ...]] = {}
    """World size as printed → the ranks that printed it."""
    older: int = 0
    """Traces of earlier runs or attempts that were left out."""
    wording: str = ""

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the world that printed nothing."""
        seen = {rank.rank for rank in self.ranks}
        highest = max(seen, default=-1) + 1
        world = max(self.world or 0, highest) if len(seen) > 1 or self.world else highest
        return tuple(rank for rank in range(min(world, MOST_RANKS)) if rank not in seen)


def run_of(files: Sequence[TraceFile]) -> TracedRun:
    """Return the newest run that the files tell of; the tracer's lines count before those written by hand."""
    marks = [mark for file in files for mark in file.marks]
    traced = [mark for mark in marks if mark.wording == "tracer"]
    if traced:
        return _traced(traced, files)
    for wordings in (("numbered", "words"), ("step",)):
        chosen = [mark for mark in marks if mark.wording in wordings and mark.rank is not None]
        if any(mark.wording == wordings[0] for mark in chosen) or len({mark.rank for mark in chosen}) > 1:
            return _written(chosen)
    return TracedRun()


def _traced(marks: Iterable[Mark], files: Sequence[TraceFile]) -> TracedRun:
    """Group by process; of each rank the newest process of the newest run counts."""
    ranks = {(mark.host, mark.pid): mark.rank for mark in marks if mark.rank is not None}
    ways = [way for file in files for way in _processes(file, ranks)]
    if not ways:
        return TracedRun()
    newest = max((way for _, way in ways), key=lambda way: way[0].time or 0.0)[0]
    chosen: dict[int, list[Mark]] = {}
    for rank, way in ways:
        if _same_run(way[0], newest) and (rank not in chosen or _weight(way) > _weight(chosen[rank])):
            chosen[rank] = way
    older = sum(1 for rank, way in ways if rank not in chosen or _is_before(way, chosen[rank]))
    frames = {file.path: file.frames for file in files}
    traces = tuple(_rank_trace(rank, way, frames) for rank, way in sorted(chosen.items()))
    world, worlds = _worlds(chosen)
    return TracedRun(ranks=traces, older=older, wording="tracer", world=world, worlds=worlds)


def _processes(file: TraceFile, ranks: dict[tuple[str, int | None], int]) -> Iterator[tuple[int, list[Mark]]]:
    """Yield the processes of one file with their ranks.

    Numbers that begin anew are a new process: in containers each run may have the same pid.
    """
    open_ways: dict[tuple[str, int | None], list[Mark]] = {}
    for mark in file.marks:
        key = (mark.host, mark.pid)
        way = open_ways.get(key)
        if mark.wording != "tracer" or key not in ranks:
            continue
        if way is None or (mark.number or 0) <= (way[-1].number or 0):
            if way is not None:
                yield _rank_of(way, ranks[key]), way
            way = open_ways[key] = []
        way.append(mark)
    for key, way in open_ways.items():
        yield _rank_of(way, ranks[key]), way


def _rank_of(way: Sequence[Mark], otherwise: int) -> int:
    return next((mark.rank for mark in reversed(way) if mark.rank is not None), otherwise)


def _weight(way: Sequence[Mark]) -> tuple[float, int, bool]:
    """Order of what is said of one rank: the latest, then the most complete, then the tracer's own file."""
    return way[-1].time or 0.0, len(way), "trace-" in way[-1].path


def _is_before(way: Sequence[Mark], chosen: Sequence[Mark]) -> bool:
    return (way[-1].time or 0.0) < (chosen[0].time or 0.0)


def _same_run(start: Mark, newest: Mark) -> bool:
    if start.kind == newest.kind == "start":
        return (start.run, start.restart) == (newest.run, newest.restart)
    return True


def _written(marks: Iterable[Mark]) -> TracedRun:
    """Take each rank's lines from the one file that has most of them: a log of all ranks repeats what theirs hold."""
    by_rank: dict[int, dict[str, list[Mark]]] = {}
    for mark in marks:
        if mark.rank is not None:
            by_rank.setdefault(mark.rank, {}).setdefault(mark.path, []).append(mark)
    chosen = {rank: max(paths.values(), key=len) for rank, paths in by_rank.items()}
    traces = tuple(_rank_trace(rank, way, {}) for rank, way in sorted(chosen.items()))
    world, worlds = _worlds(chosen)
    return TracedRun(ranks=traces, wording=traces[0].last.wording if traces else "", world=world, worlds=worlds)


def _worlds(chosen: dict[int, list[Mark]]) -> tuple[int | None, dict[int, tuple[int, ...]]]:
    """Return the largest world size that was printed, and who printed which."""
    worlds: dict[int, list[int]] = {}
    for rank, way in chosen.items():
        stated = [mark.world for mark in way if mark.world is not None]
        if stated:
            worlds.setdefault(stated[-1], []).append(rank)
    return max(worlds, default=None), {world: tuple(ranks) for world, ranks in sorted(worlds.items())}


def _rank_trace(rank: int, way: Sequence[Mark], frames: dict[str, tuple[TraceFrame, ...]]) -> RankTrace:
    counts: dict[tuple[str, str], int] = {}
    places: list[Place] = []
    for mark in way:
        if mark.is_place or (mark.kind == "end" and mark.wording != "tracer"):
            counts[mark.key] = counts.get(mark.key, 0) + 1
            places.append((*mark.key, counts[mark.key]))
    shown = [mark for mark in way if mark.is_place or (mark.kind == "end" and mark.wording != "tracer")]
    end = way[-1] if way[-1].kind == "end" else None
    quiet = next((mark for mark in reversed(way) if mark.kind in ("quiet", "mark", "enter", "leave", "end")), None)
    quiet = quiet if quiet is not None and quiet.kind == "quiet" else None
    last = shown[-1] if shown else way[-1]
    error = end.error if end is not None else last.error if last.kind == "fail" and quiet is None else ""
    return RankTrace(
        rank=rank,
        places=tuple(places),
        names=tuple(mark.shown for mark in shown),
        last=last,
        state="failed" if error else "ended" if end is not None else "waiting",
        error=error,
        end=end,
        quiet=quiet,
        frames=frames.get(way[-1].path, ()) if quiet is not None else (),
        steps=next((mark.steps for mark in reversed(way) if mark.steps is not None), None),
    )
