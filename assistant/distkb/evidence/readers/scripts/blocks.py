"""The blocks of constructs: which statements stand in which part of which test, loop or handler, and how it is left."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Part = Literal["body", "orelse", "handler", "final"]
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEAVES = (ast.Break, ast.Continue, ast.Return)


class Arm(msgspec.Struct, frozen=True):
    """A construct around a statement, and the part of it in which the statement stands."""

    node: ast.stmt
    part: Part


def parts(node: ast.stmt) -> Iterator[tuple[Part, list[ast.stmt]]]:
    """Yield the blocks of a construct; nothing for definitions, whose bodies run at another time."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    yield "body", getattr(node, "body", [])
    yield "orelse", getattr(node, "orelse", [])
    for handler in getattr(node, "handlers", []):
        yield "handler", handler.body
    for case in getattr(node, "cases", []):
        yield "body", case.body
    yield "final", getattr(node, "finalbody", [])


def statements(body: Sequence[ast.stmt], arms: tuple[Arm, ...] = ()) -> Iterator[tuple[ast.stmt, tuple[Arm, ...]]]:
    """Yield every statement of a block with the constructs around it, outermost first."""
    for statement in body:
        yield statement, arms
        for part, block in parts(statement):
            yield from statements(block, (*arms, Arm(statement, part)))


def exits(loop: ast.stmt, *, leaving: bool = False) -> Iterator[tuple[Arm, ...]]:
    """Yield what stands around the statements that leave a loop, or, unless `leaving`, skip the rest of one round."""
    for statement, arms in statements(getattr(loop, "body", [])):
        if not isinstance(statement, LEAVES) or (leaving and isinstance(statement, ast.Continue)):
            continue
        if isinstance(statement, ast.Return) or not any(isinstance(arm.node, LOOPS) for arm in arms):
            yield arms


def head(loop: ast.stmt) -> ast.expr | None:
    """Return what a loop goes through, or its condition."""
    return loop.test if isinstance(loop, ast.While) else getattr(loop, "iter", None)
