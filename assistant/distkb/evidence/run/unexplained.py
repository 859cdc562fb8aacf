"""Errors that nothing else speaks of: kept only where no other signature and no traceback explains their line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.run.work import LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.observation import Observation, Quote
    from distkb.evidence.run.timeline import Timeline
    from distkb.evidence.scanner.scan import FileScan, LineMatch


def general(signatures: Iterable[Signature]) -> frozenset[str]:
    """Return the ids of signatures that count only where nothing else speaks of the line."""
    return frozenset(signature.id for signature in signatures if "unexplained" in signature.where)


def first_unexplained(signatures: Sequence[Signature], observations: Iterable[Observation]) -> Quote | None:
    """Return the first line that tells of an error, where no message that was read says more of a failure."""
    seen = {o.id: o.quotes[0] for o in observations if o.present and o.quotes}
    names = general(signatures)
    if any(one.role == "primary" and one.id in seen and one.id not in names for one in signatures):
        return None
    return next((seen[one.id] for one in signatures if one.id in names and one.id in seen), None)


def without_explained(scans: Iterable[FileScan], signatures: Sequence[Signature]) -> list[FileScan]:
    """Return the files without general hits in lines of which another signature says what failed."""
    names = general(signatures)
    says = {one.id for one in signatures if (one.role != "context" or one.ending) and one.id not in names}
    return [_without(scan, names, _lines(scan, says)) for scan in scans]


def without_raised(scans: Iterable[FileScan], names: Collection[str], timeline: Timeline) -> list[FileScan]:
    """Return the files without general hits in tracebacks of the user's code, which are told as such.

    What a launcher says of how the tasks ended follows from what failed in them, where that was read.
    """
    traces = [event.trace for event in timeline.events if event.trace is not None and event.kind == "own"]
    told = {(trace.path, trace.line + index) for trace in traces for index in trace.chain.consumed}

    def explains(hit: LineMatch, name: str) -> bool:
        return (name, hit.line) in told or (bool(timeline.events) and LAUNCHER.search(str(hit.said)) is not None)

    return [_without(scan, names, partial(explains, name=scan.file.name)) for scan in scans]


def _lines(scan: FileScan, says: Collection[str]) -> Callable[[LineMatch], bool]:
    lines = {hit.line for hit in scan.hits if hit.signature in says}
    return lambda hit: hit.line in lines


def _without(scan: FileScan, names: Collection[str], explained: Callable[[LineMatch], bool]) -> FileScan:
    seen: set[int] = set()
    left: list[LineMatch] = []
    for hit in scan.hits:
        if hit.signature in names:
            if explained(hit) or hit.line in seen:
                continue
            seen.add(hit.line)
        left.append(hit)
    if len(left) == len(scan.hits):
        return scan
    kept = {hit.signature for hit in left}
    counts = {
        name: sum(hit.signature == name for hit in left) if name in names else count
        for name, count in scan.counts.items()
        if name in kept
    }
    return msgspec.structs.replace(scan, hits=left, counts=counts)
