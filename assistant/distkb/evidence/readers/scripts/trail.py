"""Which expressions a name, an attribute or an argument stands for, along the calls that led to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeVar

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import around
from distkb.evidence.readers.scripts.names import dotted, last

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.flow import Assignment
    from distkb.evidence.readers.scripts.made import Meaning
    from distkb.evidence.readers.scripts.project import Project

_Found = TypeVar("_Found")
MOST = 8
"""Values of one name that are followed."""
_MOST_NAMES = 3
_SEEDED = frozenset({"default_rng", "Random", "RandomState", "manual_seed"})
"""Calls that give a generator whose first argument is its seed."""


class Trail:
    """The calls of the project's functions that are being followed; an argument is what the last of them gives."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._calls: list[tuple[Function, ast.Call]] = []

    @property
    def calls(self) -> tuple[int, ...]:
        """Return the calls that are being followed, by identity."""
        return tuple(id(call) for _, call in self._calls)

    def through(self, target: Function, call: ast.Call, found: Iterable[_Found]) -> Iterator[_Found]:
        """Find things in a function with the arguments of one call."""
        self._calls.append((target, call))
        try:
            yield from found
        finally:
            self._calls.pop()

    def given(self, name: str, function: Function) -> Iterator[Meaning]:
        """Yield what is given for a parameter: by the call that is being followed, or by every caller."""
        call = next((call for target, call in reversed(self._calls) if target is function), None)
        yield from self._project.given(name, function, call)
        if [name] == function.parameters[1:2]:
            yield from self._project.keys_of(function)

    def definitions(self, node: ast.expr, function: Function) -> Iterator[Meaning]:
        """Yield the expressions that a name or an attribute may stand for."""
        name = dotted(node)
        if name.startswith("self."):
            owner = function.owner or (function.parent.owner if function.parent else None)
            for value in self._project.attribute_values(owner).get(name[5:].partition(".")[0], [])[:MOST]:
                yield value, around(value, owner, function)
        elif name:
            scope, made = self._project.binding(name, function)
            yield from ((one.value, scope) for one in made[-MOST:])
            if not made and name in scope.parameters:
                yield from self.given(name, scope)

    def behind(self, node: ast.expr, function: Function, depth: int = 0) -> Iterator[Meaning]:
        """Yield what a name or an attribute stands for, through other names and arguments."""
        for value, scope in self.definitions(node, function):
            if isinstance(value, (ast.Name, ast.Attribute)) and depth < _MOST_NAMES:
                yield from self.behind(value, scope, depth + 1)
            else:
                yield value, scope

    def assigned(self, made: Assignment, scope: Function) -> list[Meaning]:
        """Return what is assigned: of several values that a function gives back, the one that is meant."""
        picked = [] if made.index is None else self._project.returned(made.value, scope, made.index)
        whole = not picked or len(picked) < len(self._project.returned(made.value, scope))
        return [(made.value, scope)] if whole else picked

    def seeds(self, call: ast.Call, function: Function) -> list[Meaning]:
        """Return what the generator was seeded with from which a call draws; nothing where it has none of its own."""
        drawn_from = keyword(call, "generator") or getattr(call.func, "value", None)
        made = self.definitions(drawn_from, function) if drawn_from is not None else ()
        seeded = ((value, scope) for value, scope in made if isinstance(value, ast.Call))
        return [(seed, scope) for value, scope in seeded if last(value.func) in _SEEDED for seed in value.args[:1]]
