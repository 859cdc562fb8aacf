"""Which calls a function of the project makes on every rank whenever it is called, also through other functions."""

from __future__ import annotations

import ast

from distkb.evidence.readers.scripts.collectives import Implied, agrees, implied
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import NO_LINE, Site
from distkb.evidence.readers.scripts.names import dotted, names_in, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Project

MAX_DEPTH = 24
"""Calls of functions in one another that are followed."""
MAX_EFFECTS = 20
"""Calls of one function that are kept; the first ones are what a sentence names."""


_ONES = (ast.Lt, ast.LtE, ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.NotEq)
"""Comparisons that a counter may pass in its first round."""


class Effects:
    """Answers for each function, kept for the next question."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._known: dict[int, tuple[Implied, ...]] = {}
        self._busy: set[int] = set()
        self._made_equal: dict[int, dict[str, int]] = {}
        """Names that a collective of a function makes equal, and from which line on."""

    def of(self, function: Function, depth: int = 0) -> tuple[Implied, ...]:
        """Return the calls that need all ranks and are made on every path through a function.

        What hangs on a test whose outcome is not known here is left out: the caller may well have ruled it out.
        """
        key = id(function)
        if key in self._known:
            return self._known[key]
        if depth > MAX_DEPTH or key in self._busy or function.name == "<module>":
            return ()
        self._busy.add(key)
        found: list[Implied] = []
        for site in self.project.walk(function).sites:
            if site.where.side == "both" and _is_sure(site) and len(found) < MAX_EFFECTS:
                found += self.of_call(site.node, function, depth + 1)
        self._busy.discard(key)
        result = tuple(found[:MAX_EFFECTS])
        self._known[key] = result
        return result

    def of_call(self, call: ast.Call, function: Function, depth: int = 0) -> tuple[Implied, ...]:
        """Return what one call needs from all ranks, by itself or through the function that it runs."""
        direct = implied(call, function, self.project)
        if direct is not None:
            return (direct,)
        target = self.project.target(call, function)
        if target is None or target is function or is_generator(target):
            return ()
        return tuple(
            Implied(i.name, i.category, i.node, i.function, (target.name, *i.chain)) for i in self.of(target, depth)
        )

    def made_equal(self, name: str, function: Function, line: int) -> bool:
        """Whether a collective made the value of a name the same on all ranks above a line."""
        if id(function) not in self._made_equal:
            first = self._made_equal[id(function)] = {}
            for site in self.project.walk(function).sites:
                if agrees(site.node, function, self.project):
                    for known in (dotted(p) for argument in site.node.args[:2] for p in nodes(argument)):
                        first[known] = min(site.node.lineno, first.get(known, NO_LINE))
        return self._made_equal[id(function)].get(name, NO_LINE) <= line


def _is_sure(site: Site) -> bool:
    """Whether a call is made in any case, or in the first round of a loop that only its counter ends."""
    where = site.where
    loop = where.loops[-1] if where.loops else None
    target = loop.target if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    targets = set() if target is None else names_in(target)
    counted = (isinstance(t, ast.Compare) and dotted(t.left) in targets and not isinstance(t.ops[0], _ONES)
               for t in where.passed)  # fmt: skip
    return where.certain or (bool(where.passed) and not where.tests and all(counted))


def is_generator(function: Function) -> bool:
    """Whether calling the function only makes an iterator, as for `with` blocks and `yield`."""
    own = (s for s in function.node.body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)))
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for s in own for node in walk(s))
