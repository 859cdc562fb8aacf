"""Hindrances that a run got over: their lines tell of no failure where the steps went on behind them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from distkb.evidence.run.lines import Lines
from distkb.evidence.run.processes import assemble
from distkb.evidence.run.reached import is_learning
from distkb.evidence.run.steps import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.run.processes import Process
    from distkb.evidence.scanner.scan import FileScan

WENT_ON = 5
"""Lines of steps behind a hindrance that show that the run got over it."""

Step = tuple[int, tuple[int, int]]
"""Number of a line, and the epoch and step that it tells of."""


def without_overcome(scans: Sequence[FileScan], signatures: Iterable[Signature]) -> list[FileScan]:
    """Return the files without what a program tries again or lives with, where its steps went on behind it."""
    names = {signature.id for signature in signatures if signature.passing}
    hindered = [scan for scan in scans if any(hit.signature in names for hit in scan.hits)]
    if not hindered:
        return list(scans)
    left: dict[str, set[str]] = {}
    gone: dict[str, set[str]] = {}
    run = assemble(hindered)
    own = {process.key: _steps([process]) for process in run.processes}
    every = cache(lambda: _steps(run.processes))
    for process in run.processes:
        # A rank that prints no steps goes on with those of the others, which wait for it in every step.
        steps = own[process.key] or every()
        for scan, hit in process.hits:
            if hit.signature in names:
                over = _went_on(hit.line, steps.get(scan.file.name, ()))
                (gone if over else left).setdefault(scan.file.name, set()).add(hit.signature)
    passed = {path: found - left.get(path, set()) for path, found in gone.items()}
    return [_without(scan, passed.get(scan.file.name, set())) for scan in scans]


def _steps(processes: Sequence[Process]) -> Mapping[str, Sequence[Step]]:
    """File → the lines that tell of one step after another."""
    found: dict[str, list[Step]] = {}
    for process in processes:
        for lines in (process.opening, process.tail):
            for count, part, at in counted(Lines.given(lines).where(is_learning)):
                path, number = part.place(at)
                found.setdefault(path, []).append((number, count))
    return {path: sorted(steps) for path, steps in found.items()}


def _went_on(line: int, steps: Sequence[Step]) -> bool:
    """Whether steps follow a line, and follow those before it: a run that was started again begins further back."""
    before = [count for number, count in steps if number < line]
    behind = [(number, count) for number, count in steps if number > line]
    return len({number for number, _ in behind}) >= WENT_ON and not (before and behind[0][1] < before[-1])


def _without(scan: FileScan, gone: set[str]) -> FileScan:
    return scan.with_hits([hit for hit in scan.hits if hit.signature not in gone]) if gone else scan
