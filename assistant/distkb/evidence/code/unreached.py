"""Lines of the scripts to which the run never came: what is wrong there has not made it fail."""

from __future__ import annotations

import ast
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

from distkb.evidence.code.spots import Spot, chain
from distkb.evidence.observation import LineRange
from distkb.evidence.readers.scripts.blocks import LOOPS
from distkb.evidence.readers.stacks.known import is_library

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.run.positions import Position


def unreached(places: Sequence[Position], project: Project) -> tuple[LineRange, ...]:
    """Return the passages that no rank reached, where every rank that left a place failed or waited before them.

    Only functions count that run once: they are called in one place, in no loop, and by no library.
    """
    if not any(place.died for place in places):
        return ()
    sides = [{id(spot.function): spot for spot in _run_once(place, project)} for place in places]
    found: list[LineRange] = []
    for key, spot in sides[0].items():
        if all(key in side for side in sides):
            first = max(_behind(side[key]) for side in sides)
            last = _end(spot.function)
            if first <= last:
                found.append(LineRange(path=spot.script.name, first=first, last=last))
    return tuple(found)


def _run_once(place: Position, project: Project) -> Iterator[Spot]:
    """Yield where a rank stood in the functions that it was in for the first time, outermost first."""
    started = dropwhile(lambda frame: frame.path.startswith("<"), place.calls)
    for spot in chain(project, tuple(takewhile(lambda frame: not is_library(frame.path), started))):
        if len(project.callers(spot.function)) > 1:
            return
        yield spot
        if any(isinstance(arm.node, LOOPS) for arm in spot.arms):
            return


def _behind(spot: Spot) -> int:
    """The first line behind a statement that has not run: a loop has been through, a handler runs after a failure."""
    arms = (arm.node for arm in spot.arms if isinstance(arm.node, (*LOOPS, ast.Try)))
    whole = next(arms, spot.statement)
    return (whole.end_lineno or whole.lineno) + 1


def _end(function: Function) -> int:
    node = function.node
    if isinstance(node, ast.Module):
        return len(function.script.lines)
    return node.end_lineno or node.lineno
