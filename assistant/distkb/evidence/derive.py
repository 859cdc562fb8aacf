"""From scanned files to what they show together: timeline, findings, frames, notes, coverage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence import findings
from distkb.evidence.clean import quote_text
from distkb.evidence.elastic import ErrorFile
from distkb.evidence.files import LogFile
from distkb.evidence.observation import Observation, Quote
from distkb.evidence.processes import Run, Trace, assemble
from distkb.evidence.timeline import Timeline, build, notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.scan import FileScan


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What the logs show beyond single lines."""

    observations: tuple[Observation, ...]
    notes: tuple[Quote, ...]
    coverage: float
    run: Run
    timeline: Timeline


def derive(
    scans: Sequence[FileScan],
    error_files: Sequence[tuple[LogFile, ErrorFile]],
    signatures: Sequence[Signature],
    *,
    hanging: bool = False,
) -> Derived:
    """Put all files together. `hanging`: the user says that the run freezes."""
    run = assemble(scans)
    roles = {signature.id: signature.role for signature in signatures}
    files = [(file.name, file.rank, content) for file, content in error_files if file.attempt in {None, run.attempt}]
    timeline = build(run, files, roles)
    found = [*findings.derive(run, timeline, hanging=hanging), *frames(run, signatures)]
    return Derived(
        observations=tuple(found),
        notes=notes(run, timeline),
        coverage=findings.coverage(run, timeline),
        run=run,
        timeline=timeline,
    )


def frames(run: Run, signatures: Sequence[Signature]) -> list[Observation]:
    """Signatures of frames, matched on the user's frames of the first exception of each traceback."""
    wanted = [(s.id, re.compile(s.pattern)) for s in signatures if "frame" in s.where]
    found: dict[str, Observation] = {}
    for process in run.processes:
        for trace in process.traces[:20]:
            for name, quotes in frame_hits(trace, wanted, process.rank).items():
                old = found.get(name)
                found[name] = Observation(
                    id=name,
                    source="log",
                    quotes=(*(old.quotes if old else ()), *quotes)[:6],
                    count=(old.count if old else 0) + len(quotes),
                )
    return list(found.values())


def frame_hits(
    trace: Trace, wanted: Sequence[tuple[str, re.Pattern[str]]], rank: int | None
) -> dict[str, tuple[Quote, ...]]:
    """Innermost user frame of a traceback that each pattern matches."""
    found: dict[str, tuple[Quote, ...]] = {}
    for frame in trace.chain.first.frames:
        if not frame.user:
            continue
        for name, pattern in wanted:
            if pattern.search(frame.text):
                text = quote_text(frame.text)
                found[name] = (Quote(text=text, path=trace.path, line=trace.line_of(frame.at), rank=rank),)
    return found
