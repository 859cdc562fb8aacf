"""From a line of a log to the statement that printed it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.code.spots import Spot, spot_at
from distkb.evidence.readers.scripts.names import last

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project

_CALLS = frozenset(
    {"print", "info", "warning", "warn", "error", "debug", "critical", "write", "log", "exception", "echo"}
)
_LEAST = 4
"""Letters that a statement's own words must have: a shorter text is printed by many."""
_LEAST_OF_OTHERS = 10
"""And those of what is handed to a function of the project's own, which may print it."""
_MOST_TEXT = 500
_CALLERS_UP = 12
_FORMAT = re.compile(r"%(?:\(\w{1,40}\))?[-+ #0]{0,4}[0-9*]{0,4}(?:\.[0-9*]{1,4})?[a-zA-Z]|\{[^{}]{0,200}\}")


class Print(msgspec.Struct, frozen=True, eq=False):
    """One statement that prints, and what its lines look like."""

    words: tuple[str, ...]
    """What it always prints, in order."""
    weight: int
    """Letters of those words."""
    function: Function
    call: ast.Call

    def fits(self, line: str) -> bool:
        """Whether a line holds all of its words in their order."""
        at = 0
        for part in self.words:
            found = line.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return True


class Prints:
    """All statements of a project that print."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found = sorted(_prints(project), key=lambda one: -one.weight)

    def spots(self, text: str) -> tuple[Spot, ...]:
        """Return the statement that printed a line, with the calls that lead to it, outermost first.

        Empty where none did, or several might have.
        """
        line = text[:_MOST_TEXT]
        best = [one for one in self._found if one.fits(line)]
        if not best or (len(best) > 1 and best[1].weight == best[0].weight):
            return ()
        one = best[0]
        spot = spot_at(one.function, one.call.lineno)
        return () if spot is None else (*self._callers(one.function), spot)

    def _callers(self, function: Function) -> tuple[Spot, ...]:
        """The calls above a function, as long as there is one only."""
        found: list[Spot] = []
        for _ in range(_CALLERS_UP):
            callers = self._project.callers(function)
            if len(callers) != 1:
                break
            function, site = callers[0]
            spot = spot_at(function, site.node.lineno)
            if spot is None:
                break
            found.append(spot)
        return tuple(reversed(found))


def _prints(project: Project) -> Iterator[Print]:
    for function in project.functions:
        for site in project.walk(function).sites:
            call = site.node
            known = last(call.func) in _CALLS
            if not call.args or not (known or isinstance(call.args[0], ast.JoinedStr)):
                continue
            words = _template(call.args[-1] if last(call.func) == "log" and len(call.args) > 1 else call.args[0])
            weight = sum(sum(c.isalpha() for c in part) for part in words)
            if weight >= (_LEAST if known else _LEAST_OF_OTHERS):
                yield Print(tuple(words), weight, function, call)


def _template(node: ast.expr) -> list[str]:
    """The parts of a text that are the same whenever it is printed."""
    parts: list[object] = []
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = list(_FORMAT.split(node.value))
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.Add)):
        parts = [*_template(node.left), *(_template(node.right) if isinstance(node.op, ast.Add) else [])]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        # "…".format(…), json.dumps({"step": …})
        inner = node.func.value if node.func.attr == "format" else next(iter(node.args), None)
        parts = list(_template(inner)) if inner is not None and node.func.attr in {"format", "dumps"} else []
    elif isinstance(node, ast.Dict):
        names = (key.value for key in node.keys if isinstance(key, ast.Constant))
        parts = [f'"{name}"' for name in names if isinstance(name, str)]
    return [part for part in parts if isinstance(part, str) and part.strip()]
