"""Which construct of the code lies between two ranks: the test, the loop or the handler that sent them apart."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.code.spots import Spot
from distkb.evidence.readers.scripts.blocks import LEAVES, LOOPS, Arm, exits, head, statements
from distkb.evidence.readers.scripts.names import last

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.evidence.readers.scripts.definitions import Function

Turn = Literal["branch", "arms", "exit", "head", "handler", "entry"]
"""How it parts them: by a branch that only some took; by two arms of one branch; by leaving a loop or a function early;
by how often a loop goes round; by an exception that was caught; by a block that one rank enters before the others."""


class ForkCandidate(msgspec.Struct, frozen=True, eq=False):
    """One construct that may have sent the ranks apart."""

    turn: Turn
    test: ast.expr | None
    """The condition, or what the loop goes through; None for a handler."""
    node: ast.stmt
    function: Function
    own: bool = False
    """Whether it parts them only where it depends on what the rank itself met, not on its number or its share."""


def fork(one: Sequence[Spot], other: Sequence[Spot]) -> tuple[ForkCandidate, ...]:
    """Return what may lie between two ranks' chains of statements, outermost first; the likeliest comes first."""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if not _same(a, b)), None)
    if at is None:
        longer = one if len(one) > len(other) else other
        # One of them is in a function that the other's statement calls too: what parts them lies in there.
        inner = longer[min(len(one), len(other)) :][:1]
        return tuple(_around(inner[0])) if inner else ()
    first, second = one[at], other[at]
    entered = _entered(first, second)
    if entered is not None:
        return (entered,)
    if first.function is not second.function:
        # Two hooks of one library: only what stands around each of them is known.
        return (*alone(one[at:]), *alone(other[at:]))
    # The rank that went past the other's call has been through it: what stands around the wait in there let it go.
    inside = [*one[at + 1 :], *other[at + 1 :]]
    left = (part for spot in reversed(inside) for arm in reversed(spot.arms) for part in _loop(arm, spot))
    # A loop around the wait that ends by the rank's own data parts them whatever is around it.
    sure = (part for spot in reversed(inside) for arm in reversed(spot.arms) for part in ended(arm.node, spot.function))
    between = () if _fetches(first, second) or _fetches(second, first) else _between(first, second)
    return (*sure, *between, *alone(one[at + 1 :]), *alone(other[at + 1 :]), *left)


def _fetches(first: Spot, second: Spot) -> bool:
    """Whether a rank stands in the head of a loop in whose body the other is: it fetches its next item, and stays."""
    loop = first.statement
    return isinstance(loop, ast.For | ast.AsyncFor) and any(arm.node is loop for arm in second.arms)


def _entered(first: Spot, second: Spot) -> ForkCandidate | None:
    """The head of a `with` at which one rank waits while the other is inside, where one rank goes first."""
    for waits, inside in ((first, second), (second, first)):
        block = waits.statement
        if isinstance(block, ast.With) and any(part is inside.statement for part in ast.walk(block)):
            for item in block.items:
                if isinstance(item.context_expr, ast.Call) and last(item.context_expr.func).endswith("_first"):
                    return ForkCandidate("entry", item.context_expr, block, waits.function)
    return None


def alone(spots: Sequence[Spot]) -> tuple[ForkCandidate, ...]:
    """Return what may have kept the others from where these ranks stand: the branches around it, innermost first."""
    found: list[ForkCandidate] = []
    for spot in reversed(spots):
        found += [
            ForkCandidate("branch", arm.node.test, arm.node, spot.function)
            for arm in reversed(spot.arms)
            if isinstance(arm.node, ast.If)
        ]
        found += _exits_above(spot)
    return tuple(found)


def behind(spot: Spot) -> Iterator[ForkCandidate]:
    """Yield the tests that a rank comes to behind a statement, until its loop begins anew or its function ends."""
    loops = [index for index, arm in enumerate(spot.arms) if isinstance(arm.node, LOOPS)]
    least = loops[-1] + 1 if loops else 0
    for statement, arms in statements(spot.function.node.body):
        around = tuple(arms)
        follows = statement.lineno > spot.line and around == tuple(spot.arms[: len(around)])
        if follows and len(around) >= least and isinstance(statement, ast.If):
            yield ForkCandidate("branch", statement.test, statement, spot.function)


def _same(a: Spot, b: Spot) -> bool:
    return a.statement is b.statement


def _between(a: Spot, b: Spot) -> Iterator[ForkCandidate]:
    """Two statements of one function."""
    early, late = (a, b) if a.line <= b.line else (b, a)
    common = 0
    while common < min(len(a.arms), len(b.arms)) and a.arms[common] == b.arms[common]:
        common += 1
    mine, theirs = _arm(early, common), _arm(late, common)
    function = a.function
    if mine is not None and theirs is not None and mine.node is theirs.node:
        yield from _arms_of(mine, theirs, function)
        return
    loops = [arm.node for arm in early.arms[common:] if isinstance(arm.node, LOOPS)]
    # Who stands behind a loop has left it.
    for loop in reversed(loops):
        yield from _left(loop, function)
    for spot in (late, early):
        for arm in spot.arms[common:]:
            if isinstance(arm.node, ast.If):
                yield ForkCandidate("branch", arm.node.test, arm.node, function)
            elif arm.part == "handler":
                yield ForkCandidate("handler", None, arm.node, function)
            elif isinstance(arm.node, LOOPS) and arm.node not in loops:
                yield ForkCandidate("head", head(arm.node), arm.node, function)
    if not loops:
        yield from _exits_between(early, late)
        around = [arm.node for arm in early.arms[:common] if isinstance(arm.node, LOOPS)]
        for loop in reversed(around):
            yield from _exits(loop, function)


def _arms_of(mine: Arm, theirs: Arm, function: Function) -> Iterator[ForkCandidate]:
    node = mine.node
    if isinstance(node, ast.If):
        yield ForkCandidate("arms", node.test, node, function)
    elif isinstance(node, LOOPS):
        yield from _left(node, function)
    elif "handler" in {mine.part, theirs.part}:
        yield ForkCandidate("handler", None, node, function)


def _left(loop: ast.stmt, function: Function) -> Iterator[ForkCandidate]:
    yield from _exits(loop, function, leaving=True)
    yield ForkCandidate("head", head(loop), loop, function)
    yield from _exits(loop, function)  # who skipped rounds comes out sooner than the others


def _loop(arm: Arm, spot: Spot) -> Iterator[ForkCandidate]:
    """What ends a loop in which one rank still goes round."""
    if isinstance(arm.node, LOOPS):
        yield from _left(arm.node, spot.function)


def ended(loop: ast.stmt, function: Function) -> Iterator[ForkCandidate]:
    """Yield what ends a loop by something that the rank finds out in it; nothing for any other statement."""
    tests = [*_exits(loop, function, leaving=True)] if isinstance(loop, LOOPS) else []
    if isinstance(loop, ast.While):
        tests.append(ForkCandidate("head", head(loop), loop, function))
    yield from (msgspec.structs.replace(test, own=True) for test in tests if test.test is not None)


def _exits(loop: ast.stmt, function: Function, *, leaving: bool = False) -> Iterator[ForkCandidate]:
    """Yield the tests and handlers under which a loop is left, or its rest skipped."""
    for arms in exits(loop, leaving=leaving):
        yield from _of_arms(arms, function)


def _exits_between(early: Spot, late: Spot) -> Iterator[ForkCandidate]:
    for statement, arms in statements(early.function.node.body):
        if isinstance(statement, LEAVES) and early.line < statement.lineno < late.line:
            yield from _of_arms(arms, early.function)


def _exits_above(spot: Spot) -> Iterator[ForkCandidate]:
    for statement, arms in statements(spot.function.node.body):
        if isinstance(statement, LEAVES) and statement.lineno < spot.line:
            yield from _of_arms(arms, spot.function)


def _of_arms(arms: Sequence[Arm], function: Function) -> Iterator[ForkCandidate]:
    for arm in reversed(arms):
        if isinstance(arm.node, ast.If):
            yield ForkCandidate("exit", arm.node.test, arm.node, function)
        elif arm.part == "handler":
            yield ForkCandidate("handler", None, arm.node, function)
        elif isinstance(arm.node, LOOPS):
            return


def _around(spot: Spot) -> Iterator[ForkCandidate]:
    for arm in reversed(spot.arms):
        if isinstance(arm.node, ast.If):
            yield ForkCandidate("branch", arm.node.test, arm.node, spot.function)


def _arm(spot: Spot, index: int) -> Arm | None:
    return spot.arms[index] if index < len(spot.arms) else None
