"""Which parts of a test ask how much something is, and which parameters may be a batch."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.names import last

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project

_MOST_NAMES = 2
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BATCHES = re.compile(r"(?i)tensor|dict|mapping|batch|tuple|any|sample|encoding|data$|ndarray")
"""Annotations of what a step is given."""


def amounts(
    test: ast.expr, function: Function, project: Project, depth: int = 0
) -> Iterator[tuple[ast.expr, Function]]:
    """Yield the parts of a test that compare amounts or call something that does, with the function they stand in."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from amounts(value, function, project, depth)
    elif isinstance(test, ast.UnaryOp):
        yield from amounts(test.operand, function, project, depth)
    elif isinstance(test, ast.Compare):
        numbers = all(isinstance(c, ast.Constant) and isinstance(c.value, (int, float)) for c in test.comparators)
        if any(isinstance(op, _ORDERS) for op in test.ops) or (numbers and not isinstance(test.ops[0], ast.Is)):
            yield test, function
    elif isinstance(test, ast.Call):
        returned = project.returned(test, function)
        if not returned or not all(_asks_whether_there(value) for value, _ in returned):
            yield test, function
    elif depth < _MOST_NAMES:
        made = project.single(test, function)
        if made is not None:
            yield from amounts(made, function, project, depth + 1)


def may_be_batch(function: Function, name: str) -> bool:
    """Whether the annotation of a parameter, if it has one, is one that batches have."""
    if isinstance(function.node, ast.Module):
        return True
    given = function.node.args
    annotation = next((a.annotation for a in (*given.posonlyargs, *given.args) if a.arg == name), None)
    return annotation is None or _BATCHES.search(ast.unparse(annotation)) is not None


def is_parameter(name: str, function: Function | None) -> bool:
    """Whether a name is a parameter of a function or of one around it."""
    while function is not None:
        if name in function.parameters:
            return True
        function = function.parent
    return False


def _asks_whether_there(value: ast.expr) -> bool:
    """Whether an expression is one like `x is None`, `x is not None`, `isinstance(x, T)`."""
    if isinstance(value, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in value.ops)
    return isinstance(value, ast.Call) and last(value.func) in {"isinstance", "hasattr", "callable"}
