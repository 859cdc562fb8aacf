"""From paths to findings: the checkpoints of all ranks are read and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb.evidence.artifact import ArtifactReading, careful, find
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.traces import files
from distkb.evidence.readers.traces.compare import IDS, Comparison, TraceFinding, compare
from distkb.evidence.readers.traces.files import TraceFile
from distkb.evidence.readers.traces.mark import Mark
from distkb.evidence.readers.traces.runs import RankTrace, TracedRun, run_of
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.ranks import listed
from distkb.evidence.walk import File

MAX_QUOTES = 6
_SETTLED_S = 10.0
"""Seconds without a line after which a rank counts as waiting, and not as just late."""
_PHASES = {
    "init": "init",
    "wrap": "init",
    "logger": "init",
    "forward": "first-step",
    "save": "checkpoint",
    "eval": "evaluation",
}


class TraceReader:
    """Checkpoints that the tracer, or the user's own prints, left."""

    name = "trace"
    most = files.MAX_FILES

    def is_named(self, file: File) -> bool:
        """By the tracer's own name."""
        return files.is_tracers_own(file.path)

    def may_hold(self, file: File) -> bool:
        """Any log may hold some."""
        return file.given or self.is_named(file) or (files.may_be_trace(file.path) and not file.tucked)

    def holds(self, file: File) -> bool:
        """Whether it is the tracer's, or shows some at its start."""
        return self.is_named(file) or files.holds_marks(file.path, file.text(files.PEEK))

    def nothing_else(self, file: File) -> bool:
        """Where the tracer itself wrote it."""
        return self.is_named(file)

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:  # noqa: ARG002 - it needs none of it
        """Compare how far the ranks came."""
        return read_traces(paths)


def find_traces(paths: Sequence[Path]) -> list[Path]:
    """Return the files under `paths` that hold checkpoints of the tracer, or numbered ones written by hand."""
    return find(TraceReader(), paths)


def _expanded(paths: Sequence[Path]) -> list[Path]:
    """The files given, and those that are found in the folders given."""
    return list(dict.fromkeys(file for path in paths for file in (find_traces([path]) if path.is_dir() else [path])))


@careful
def read_traces(paths: Sequence[Path]) -> ArtifactReading:
    """Read the checkpoints of one job's ranks and compare them.

    `paths` are files, or folders that are searched for them. A file without checkpoints becomes a `Skipped`, as does
    one that cannot be read; nothing in a file raises an error.
    """
    read: list[TraceFile] = []
    skipped = [Skipped(path=str(path), code="no-traces") for path in paths if path.is_dir() and not find_traces([path])]
    for path in _expanded(paths):
        found = files.read(path)
        if isinstance(found, Skipped):
            skipped.append(found)
        elif not found.marks:
            skipped.append(Skipped(path=str(path), code="no-traces"))
        else:
            read.append(found)
    run = run_of(read)
    result = compare(run)
    observations = tuple(_observation(hit, run) for hit in result.hits) + tuple(_quiet(run))
    seen = {observation.id for observation in observations}
    return ArtifactReading(
        observations=observations,
        clear=tuple(identity for identity in _looked_for(run, result) if identity not in seen),
        facts=_facts(run, result) if run.ranks else {},
        skipped=tuple(skipped),
        bytes_read=sum(file.size for file in read),
    )


def _looked_for(run: TracedRun, result: Comparison) -> tuple[str, ...]:
    """Return what can be said to be absent: who waits for a rank that is gone was not compared in full."""
    if len(run.ranks) < 2:
        return ()
    if result.pattern == "failed":
        return ("trace.rank-never-started", "trace.world-differs")
    ids = (*IDS, "trace.quiet")
    if result.pattern in ("missing", "ended-early"):
        return tuple(identity for identity in ids if not identity.startswith("trace.all-"))
    return ids


def _observation(hit: TraceFinding, run: TracedRun) -> Observation:
    quotes = [quote for rank in hit.suspects[:2] for quote in _quotes(rank)]
    quotes += [_quote(rank.last, rank.rank) for rank in hit.others[:2]]
    return Observation(
        id=hit.id,
        source="probe",
        certainty=1.0 if _is_settled(hit, run) else 0.7 if run.wording == "tracer" else 0.5,
        quotes=tuple(quotes[:MAX_QUOTES]),
        values={name: quote_text(value) for name, value in hit.values.items()},
    )


def _is_settled(hit: TraceFinding, run: TracedRun) -> bool:
    """Whether the ranks had stood still for a while when the last line was written."""
    if hit.id in ("trace.rank-failed", "trace.world-differs") or any(rank.quiet for rank in run.ranks):
        return True
    times = [rank.last.time for rank in run.ranks if rank.last.time is not None]
    mine = [rank.last.time for rank in hit.suspects if rank.last.time is not None]
    return bool(mine) and max(times) - max(mine) >= _SETTLED_S


def _quotes(rank: RankTrace) -> Iterator[Quote]:
    yield _quote(rank.last, rank.rank)
    if rank.end is not None and rank.end is not rank.last:
        yield _quote(rank.end, rank.rank)
    for frame in rank.frames[:1]:
        text = f'File "{frame.path}", line {frame.line} in {frame.function}'
        yield Quote(text=quote_text(text), path=rank.last.path, line=frame.at, rank=rank.rank)


def _quote(mark: Mark, rank: int) -> Quote:
    return Quote(text=mark.text, path=mark.path, line=mark.line, rank=rank, time=mark.time)


def _quiet(run: TracedRun) -> Iterator[Observation]:
    """Note who was silent and where the tracer put the stacks."""
    quiet = [rank for rank in run.ranks if rank.quiet is not None]
    if not quiet:
        return
    longest = max(rank.quiet.seconds for rank in quiet if rank.quiet is not None)
    folder = str(Path(quiet[0].last.path).parent)
    yield Observation(
        id="trace.quiet",
        source="probe",
        quotes=tuple(_quote(rank.quiet, rank.rank) for rank in quiet[:2] if rank.quiet is not None),
        values={
            "ranks": listed([rank.rank for rank in quiet]),
            "seconds": f"{longest:.0f}",
            "folder": quote_text(folder),
        },
    )


def _facts(run: TracedRun, result: Comparison) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "pattern": result.pattern,
        "world": run.world,
        "missing": list(run.missing[:1000]),
        "written": run.wording,
        "older_traces": run.older,
        "outliers": sorted(result.outliers),
        "ranks": [_row(rank) for rank in run.ranks],
    }
    if result.pattern not in ("none", "finished", "failed"):
        facts["implies"] = list(_implied(run, result))
    return facts


def _row(rank: RankTrace) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "last": rank.last.shown,
        "number": rank.last.number,
        "time": rank.last.clock,
        "state": rank.state,
        "inside": rank.inside,
        "steps": rank.steps,
        "quiet_s": None if rank.quiet is None else rank.quiet.seconds,
        "path": quote_text(rank.last.path),
        "line": rank.last.line,
        "stack": [f"{quote_text(frame.path)}:{frame.line} {quote_text(frame.function)}" for frame in rank.frames],
    }


def _implied(run: TracedRun, result: Comparison) -> Iterator[str]:
    yield "symptom=hang"
    insides = {rank.inside for rank in run.ranks if rank.inside}
    phases = {_PHASES[inside] for inside in insides if inside in _PHASES}
    if result.pattern == "same" and len(phases) == 1:
        yield f"phase={phases.pop()}"
