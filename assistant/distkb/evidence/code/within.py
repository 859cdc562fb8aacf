"""Where a loop only goes through what a call has made: the ranks may have parted inside that call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distkb.evidence.code.fork import ForkCandidate, ended
from distkb.evidence.code.skipped import skipped
from distkb.evidence.readers.scripts.blocks import LOOPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.effects import Effects

MOST = 20
"""Functions that are looked into."""


def with_calls_inside(candidates: Iterable[ForkCandidate], effects: Effects) -> Iterator[ForkCandidate]:
    """Yield the constructs with each loop whose rounds need no other rank replaced by what its head calls.

    By its number of rounds it parts nobody. A rank that has printed nothing of it may still be in the call that makes
    what the loop goes through.
    """
    for candidate in candidates:
        if candidate.turn != "head" or candidate.test is None or _needs_others(candidate, effects):
            yield candidate
        else:
            yield from _inside(candidate, effects)


def _needs_others(loop: ForkCandidate, effects: Effects) -> bool:
    """Whether a round of the loop makes a step, or anything else for which all ranks are needed."""
    body = ast.Module(getattr(loop.node, "body", []), [])
    return skipped(loop, effects) is not None or any(effects.of_call(one, loop.function) for one in _calls(body))


def _inside(candidate: ForkCandidate, effects: Effects) -> Iterator[ForkCandidate]:
    """Yield what ends the loops that need all ranks, in the functions that the head of a loop calls."""
    waiting = [(call, candidate.function) for call in _calls(candidate.test)]
    seen: dict[int, Function] = {}
    while waiting and len(seen) < MOST:
        call, caller = waiting.pop()
        function = effects.project.target(call, caller)
        if function is None or id(function) in seen:
            continue
        seen[id(function)] = function
        for node in ast.walk(function.node):
            if isinstance(node, LOOPS) and any(effects.of_call(one, function) for one in _calls(node)):
                yield from ended(node, function)
        waiting += [(one, function) for one in _calls(function.node)]


def _calls(node: ast.AST | None) -> list[ast.Call]:
    return [] if node is None else [one for one in ast.walk(node) if isinstance(one, ast.Call)]
