"""How often a loop goes round: what decides how many things an iterable gives, not which."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.collectives import agrees
from distkb.evidence.readers.scripts.effects import is_generator
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, canonical, dotted, last
from distkb.evidence.readers.scripts.nodes import children, nodes
from distkb.evidence.readers.scripts.outside import (
    BY_VALUE,
    EVEN,
    MAKERS,
    NO_LENGTH,
    OF_MODELS,
    READERS,
    SOURCES_OF_CHANCE,
    Reason,
    is_count,
    of_library,
)
from distkb.evidence.readers.scripts.ranks import is_rank
from distkb.evidence.readers.scripts.trail import MOST, Trail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.origins import Origins
    from distkb.evidence.readers.scripts.project import Project

_OF_KEYS = frozenset({"add", "update", "setdefault"})
"""Methods that put something into a container under a key, so that the same twice counts once."""
GROWING = frozenset({"defaultdict", "Counter"})
"""Containers to which asking for a key adds it."""
_PUT_IN = _OF_KEYS | {"append", "extend", "appendleft"}


class Lengths:
    """Follows iterables to what they go through and where they stop."""

    def __init__(self, project: Project, origins: Origins, trail: Trail) -> None:
        self._project = project
        self._origins = origins
        self._trail = trail

    def of(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        """Yield what the length of an iterable depends on, as far as it was not asked before."""
        yield from self._origins.once(self._parts, node, function, depth)

    def _parts(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        if isinstance(node, ast.Call):
            yield from self._call(node, function, depth)
        elif isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                yield from self.of(generator.iter, function, depth)
                if not self._hides(generator.target, function):
                    yield from self._origins.values(generator.ifs, function, depth)
        elif isinstance(node, ast.Subscript):
            parts = (node.slice.lower, node.slice.upper, node.slice.step) if isinstance(node.slice, ast.Slice) else ()
            yield from self._origins.values(filter(None, parts or (node.slice,)), function, depth)
            yield from self.of(node.value, function, depth)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            for value, scope in self._trail.definitions(node, function):
                yield from self.of(value, scope, depth + 1)
            if isinstance(node, ast.Attribute) and dotted(node.value) != "self":
                known = self._project.holds_class(node.value, function) is not None
                for value, scope in self._project.held_under(node, function) if known else ():
                    yield from self.of(value, scope, depth + 1)
            yield from self._filled(node, function, depth + 1)
        elif isinstance(node, (ast.IfExp, ast.BinOp, ast.BoolOp)):
            for child in children(node):
                if isinstance(child, ast.expr):
                    yield from self.of(child, function, depth)

    def _hides(self, target: ast.expr, function: Function) -> bool:
        """Whether a comprehension's own name is one of the function's too, which is not meant in its tests."""
        walk = self._project.walk(function)
        return any(isinstance(part, ast.Name) and walk.assigned(part.id) for part in nodes(target))

    def _filled(self, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what is put into a container bit by bit: under which keys or tests, and how often."""
        name, scopes, made = dotted(node), [function], [value for value, _ in self._trail.definitions(node, function)]
        if isinstance(node, ast.Attribute):
            own = dotted(node.value) == "self"
            owner = function.owner if own else self._project.holds_class(node.value, function)
            if owner is not None:
                name, scopes = f"self.{node.attr}", list(owner.methods.values())
                made = self._project.attribute_values(owner).get(node.attr, [])
        grows = any(isinstance(value, ast.Call) and last(value.func) in GROWING for value in made)
        for scope in scopes:
            walk = self._project.walk(scope)
            puts = [(key.value, key.where) for key in walk.keys.get(name, []) if key.put or grows][-MOST:]
            for site in walk.sites:
                func = site.node.func
                if isinstance(func, ast.Attribute) and func.attr in _PUT_IN and dotted(func.value) == name:
                    puts += [(value, site.where) for value in (site.node.args if func.attr in _OF_KEYS else ())]
                    yield from self._origins.values(site.where.tests, scope, depth)
            for key, where in puts:
                if not isinstance(key, ast.Constant):
                    yield from self._origins.values((key, *where.tests), scope, depth)

    def _call(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        full, name = canonical(node.func, function.script), last(node.func)
        target = self._project.target(node, function)
        outside = of_library(full, node)
        if name == "range" or MAKERS.match(full):
            yield from self._origins.values(node.args, function, depth)
        elif agrees(node, function, self._project):
            return
        elif outside in {"file", "clock"}:
            yield Reason(outside, function, node)
        elif name in EVEN:
            yield from self.of(node.args[0], function, depth + 1) if node.args else iter(())
        elif name in OF_MODELS or name in SOURCES_OF_CHANCE:
            return
        elif target is None and name in BY_VALUE:
            receiver = (node.func.value,) if isinstance(node.func, ast.Attribute) else ()
            yield from self._origins.values((*receiver, *node.args), function, depth + 1)
        elif target is None:
            yield from self._call_of_library(node, function, depth + 1)
        elif target.name.endswith("__init__") and target.owner is not None:
            for method in filter(None, map(target.owner.methods.get, ("__iter__", "__len__", "__next__"))):
                yield from self._trail.through(target, node, self._goes_round(method, depth + 1))
        elif is_generator(target):
            yield from self._trail.through(target, node, self._goes_round(target, depth + 1))
        else:
            for value, where in self._project.walk(target).returns:
                yield from self._trail.through(target, node, self.of(value, target, depth + 1))
                yield from self._trail.through(target, node, self._origins.values(where.tests, target, depth + 1))

    def _call_of_library(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        """`DataLoader(data)`, `enumerate(loader)`, `islice(stream, n)` are as long as what they are given.

        What is read from a file is the rank's own where its path is.
        """
        if READERS.match(canonical(node.func, function.script)):
            asked = self._origins.values(node.args[:1], function, depth)
            yield from (reason for reason in asked if reason.origin == "rank")
            return
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        for given in (*receiver, *node.args, *(w.value for w in node.keywords if w.arg not in NO_LENGTH)):
            if is_rank(given):
                yield Reason("rank", function, given)
            else:
                yield from self.of(given, function, depth)

    def _goes_round(self, function: Function, depth: int) -> Iterator[Reason]:
        """What the loops and tests of a generator, or of the method that makes an iterator, depend on."""
        stack: list[ast.AST] = list(function.node.body)
        while stack:
            node = stack.pop(0)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                continue
            if isinstance(node, (ast.For, ast.AsyncFor)):
                yield from self.of(node.iter, function, depth)
            elif isinstance(node, (ast.While, ast.If)):
                yield from self._origins.value(node.test, function, depth)
            elif isinstance(node, ast.Return) and node.value is not None:
                yield from self.of(node.value, function, depth)
                yield from self._origins.value(node.value, function, depth) if is_count(node.value) else iter(())
            stack += children(node)
