"""What the ranks on the other side of a test leave out: a collective of the script's own, a step, or a module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from distkb.evidence.readers.scripts.blocks import LOOPS, parts, statements
from distkb.evidence.readers.scripts.names import last

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.evidence.code.fork import ForkCandidate
    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.effects import Effects

Work = Literal["step", "collective", "module"]
_STEPS = frozenset({"backward", "manual_backward", "step", "training_step"})
_OWN = frozenset({"collective", "hidden", "group", "save", "state-dict", "accelerate-save"})


def skipped(candidate: ForkCandidate, effects: Effects) -> Work | None:
    """Return what stands in the branch or the round of a loop, or behind the way out, that only some ranks take."""
    if candidate.turn == "exit" and candidate.function.name.endswith("training_step"):
        return "step"
    calls = [node for part in _left_out(candidate) for node in ast.walk(part) if isinstance(node, ast.Call)]
    if any(last(call.func) in _STEPS for call in calls):
        return "step"
    if any(one.category in _OWN for call in calls for one in effects.of_call(call, candidate.function)):
        return "collective"
    return "module" if _in_forward(candidate.function) and any(_of_self(call) for call in calls) else None


def _left_out(candidate: ForkCandidate) -> Iterator[ast.stmt]:
    """Yield the statements that some ranks do not come to; of a branch both arms."""
    if candidate.turn in {"branch", "arms"}:
        for _, block in parts(candidate.node):
            yield from block
    elif candidate.turn == "head":
        yield from getattr(candidate.node, "body", [])
    elif candidate.turn == "exit":
        yield from _behind(candidate.function.node.body, candidate.node)


def _behind(body: Sequence[ast.stmt], node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield what follows a statement in the loop or function that its way out leaves."""
    around = next((arms for statement, arms in statements(body) if statement is node), ())
    loop = next((arm.node for arm in reversed(around) if isinstance(arm.node, LOOPS)), None)
    inside = body if loop is None else getattr(loop, "body", [])
    yield from (statement for statement in inside if statement.lineno > (node.end_lineno or node.lineno))


def _in_forward(function: Function) -> bool:
    """Whether it is a method of a model."""
    return function.owner is not None and not function.owner.methods.keys().isdisjoint({"forward", "training_step"})


def _of_self(call: ast.Call) -> bool:
    """Whether a part of the model is called: `self.head(x)`, `self.experts[i](x)`."""
    at: ast.expr = call.func
    while isinstance(at, (ast.Attribute, ast.Subscript)):
        at = at.value
    return isinstance(at, ast.Name) and at.id == "self"
