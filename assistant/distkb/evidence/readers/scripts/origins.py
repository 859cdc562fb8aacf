"""What a value of the script depends on that may be different on every rank, followed through the project's code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, cast

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.amounts import amounts, is_parameter, may_be_batch
from distkb.evidence.readers.scripts.collectives import TOGETHER, agrees
from distkb.evidence.readers.scripts.effects import is_generator
from distkb.evidence.readers.scripts.fields import Fields, fields_of
from distkb.evidence.readers.scripts.flow import LOOPED, Assignment, item_of
from distkb.evidence.readers.scripts.logged import logged_as, reads_logged
from distkb.evidence.readers.scripts.names import canonical, dotted, keyword, last
from distkb.evidence.readers.scripts.nodes import children, nodes
from distkb.evidence.readers.scripts.outside import (
    BATCHES,
    BY_VALUE,
    EVEN,
    LOADERS,
    MAKERS,
    MEASURED,
    MEASURES,
    NO_LENGTH,
    OF_MODELS,
    SAME,
    SOURCES_OF_CHANCE,
    Origin,
    is_count,
    of_library,
)
from distkb.evidence.readers.scripts.ranks import FLAGS, is_rank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.effects import Effects
    from distkb.evidence.readers.scripts.project import Class, Function, Project

MOST = 60_000
"""Expressions looked at in one project. The largest public ones need fewer than 5,000."""
_NO_LINE = 1 << 30
_DEPTH = 9
_NESTED = 60
"""Expressions in one another that are followed."""
_MOST_NAMES = 3
_OF_KEYS = frozenset({"add", "update", "setdefault"})
"""Methods that put something into a container under a key, so that the same twice counts once."""
GROWING = frozenset({"defaultdict", "Counter"})
"""Containers to which asking for a key adds it."""
_SEEDED = frozenset({"default_rng", "Random", "RandomState", "manual_seed"})
"""Calls that give a generator whose first argument is its seed."""
_PUT_IN = _OF_KEYS | {"append", "extend", "appendleft"}


class Reason(msgspec.Struct, frozen=True, eq=False):
    """One thing that a value depends on, with the place that shows it."""

    origin: Origin
    function: Function
    node: ast.AST


_OF_TRAINERS = frozenset({"pl_module", "trainer.lightning_module", "module"})
"""Names of a callback's model, whose class the project has."""


Follow = Callable[[ast.expr, "Function", int], Iterable[Reason]]


def _reaches(made: Assignment, line: int) -> bool:
    """Whether what was assigned may be there at a line of the same function: above it, or in a loop around both."""
    return made.line <= line or any(loop.lineno <= line <= (loop.end_lineno or 0) for loop in made.where.loops)


class Origins:
    """Follows values through assignments, arguments, attributes and the functions of the project."""

    def __init__(self, project: Project, effects: Effects) -> None:
        self._project = project
        self._effects = effects
        self._level = 0
        self._made_equal: dict[int, dict[str, int]] = {}
        """Names that a collective of a function makes equal, and from which line on."""
        self.left = MOST
        """Expressions that are still looked at; afterwards nothing more is found."""
        self._known: dict[tuple[int, int, bool, tuple[int, ...]], tuple[Reason, ...]] = {}
        """What was found of an expression: of its value, and of its length, below which calls; nothing while it is
        being looked at."""
        self._calls: list[tuple[Function, ast.Call]] = []
        """The functions that are being followed, each with the call that led into it: its arguments are that call's."""

    def of(self, node: ast.expr, function: Function) -> list[Reason]:
        """Return what a value depends on, the nearest first."""
        self._known.clear()
        found: dict[Origin, Reason] = {}
        for reason in self._expression(node, function, 0):
            found.setdefault(reason.origin, reason)
        found.pop("agreed", None)
        return list(found.values())

    def of_amounts(self, test: ast.expr, function: Function) -> list[Reason]:
        """Return what the parts of a test depend on that compare how much something is, or call something to find out.

        Whether something is there at all, or which kind, is a matter of settings more often than not.
        """
        return [reason for part, scope in amounts(test, function, self._project) for reason in self.of(part, scope)]

    def of_length(self, node: ast.expr, function: Function) -> list[Reason]:
        """Return what decides how often a loop over a value goes round; that it is the rank's is said as its part."""
        self._known.clear()
        found: dict[Origin, Reason] = {}
        for reason in self._as_part(self._length(node, function, 0)):
            found.setdefault(reason.origin, reason)
        found.pop("agreed", None)
        return list(found.values())

    def _length(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        """Follow an iterable to what it goes through and where it stops, not to what it gives."""
        yield from self._once(self._lengths, True, node, function, depth)

    def _once(
        self, follow: Follow, of_length: bool, node: ast.expr, function: Function, depth: int
    ) -> tuple[Reason, ...]:
        key = (id(node), id(function), of_length, tuple(id(call) for _, call in self._calls))
        if depth > _DEPTH or self._level > _NESTED or self.left <= 0:
            return ()
        if key not in self._known:
            self.left -= 1
            self._known[key] = ()
            nearest: dict[Origin, Reason] = {}
            self._level += 1
            for reason in follow(node, function, depth):
                nearest.setdefault(reason.origin, reason)
            self._level -= 1
            self._known[key] = tuple(nearest.values())
        return self._known[key]

    def _lengths(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        if isinstance(node, ast.Call):
            yield from self._length_of_call(node, function, depth)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            for generator in node.generators:
                yield from self._length(generator.iter, function, depth)
                yield from self._values_of(generator.ifs, function, depth)
        elif isinstance(node, ast.Subscript):
            parts = (node.slice.lower, node.slice.upper, node.slice.step) if isinstance(node.slice, ast.Slice) else ()
            yield from self._values_of(filter(None, parts or (node.slice,)), function, depth)
            yield from self._length(node.value, function, depth)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            for value, scope in self._definitions(node, function):
                yield from self._length(value, scope, depth + 1)
            yield from self._filled(node, function, depth + 1)
        elif isinstance(node, (ast.IfExp, ast.BinOp, ast.BoolOp)):
            for child in children(node):
                if isinstance(child, ast.expr):
                    yield from self._length(child, function, depth)

    def _filled(self, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what is put into a container bit by bit: under which keys or tests, and how often."""
        name, scopes, made = dotted(node), [function], [value for value, _ in self._definitions(node, function)]
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            owner = function.owner if own else self._project.holds_class(node.value, function)
            if owner is not None:
                name, scopes = f"self.{node.attr}", list(owner.methods.values())
                made = self._project.attribute_values(owner).get(node.attr, [])
        grows = any(isinstance(value, ast.Call) and last(value.func) in GROWING for value in made)
        for scope in scopes:
            walk = self._project.walk(scope)
            puts = [(key.value, key.where) for key in walk.keys.get(name, []) if key.put or grows][-8:]
            for site in walk.sites:
                func = site.node.func
                if isinstance(func, ast.Attribute) and func.attr in _PUT_IN and dotted(func.value) == name:
                    puts += [(value, site.where) for value in (site.node.args if func.attr in _OF_KEYS else ())]
                    yield from self._values_of(site.where.tests, scope, depth)
            for key, where in puts:
                if not isinstance(key, ast.Constant):
                    yield from self._expression(key, scope, depth)
                    yield from self._values_of(where.tests, scope, depth)

    def _values_of(self, nodes: Iterable[ast.expr], function: Function, depth: int) -> Iterator[Reason]:
        for node in nodes:
            yield from self._expression(node, function, depth)

    def _length_of_call(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        full, name = canonical(node.func, function.script), last(node.func)
        target = self._project.target(node, function)
        outside = of_library(full, node)
        if name == "range" or MAKERS.match(full):
            yield from self._values_of(node.args, function, depth)
        elif agrees(node, function, self._project):
            return
        elif outside in {"file", "clock"}:
            yield Reason(outside, function, node)
        elif name in EVEN:
            yield from self._length(node.args[0], function, depth + 1) if node.args else iter(())
        elif name in OF_MODELS or name in SOURCES_OF_CHANCE:
            return
        elif target is None and name in BY_VALUE:
            receiver = (node.func.value,) if isinstance(node.func, ast.Attribute) else ()
            yield from self._values_of((*receiver, *node.args), function, depth + 1)
        elif target is None:
            yield from self._length_of_library(node, function, depth + 1)
        elif target.name.endswith("__init__") and target.owner is not None:
            for method in filter(None, map(target.owner.methods.get, ("__iter__", "__len__", "__next__"))):
                yield from self._through(target, node, self._goes_round(method, depth + 1))
        elif is_generator(target):
            yield from self._through(target, node, self._goes_round(target, depth + 1))
        else:
            for value, where in self._project.walk(target).returns:
                yield from self._through(target, node, self._length(value, target, depth + 1))
                yield from self._through(target, node, self._values_of(where.tests, target, depth + 1))

    def _length_of_library(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        """`DataLoader(data)`, `enumerate(loader)`, `islice(stream, n)` are as long as what they are given."""
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        for given in (*receiver, *node.args, *(w.value for w in node.keywords if w.arg not in NO_LENGTH)):
            if is_rank(given):
                yield Reason("rank", function, given)
            else:
                yield from self._length(given, function, depth)

    def _goes_round(self, function: Function, depth: int) -> Iterator[Reason]:
        """What the loops and tests of a generator, or of the method that makes an iterator, depend on."""
        stack: list[ast.AST] = list(function.node.body)
        while stack:
            node = stack.pop(0)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                continue
            if isinstance(node, (ast.For, ast.AsyncFor)):
                yield from self._length(node.iter, function, depth)
            elif isinstance(node, (ast.While, ast.If)):
                yield from self._expression(node.test, function, depth)
            elif isinstance(node, ast.Return) and node.value is not None:
                yield from self._length(node.value, function, depth)
                yield from self._expression(node.value, function, depth) if is_count(node.value) else iter(())
            stack += children(node)

    def _definitions(self, node: ast.Name | ast.Attribute, function: Function) -> Iterator[tuple[ast.expr, Function]]:
        """Yield the expressions that a name or an attribute may stand for."""
        name = dotted(node)
        if not name:
            return
        if name.startswith("self."):
            owner = function.owner or (function.parent.owner if function.parent else None)
            for value in self._project.attribute_values(owner).get(name[5:].partition(".")[0], [])[:8]:
                yield value, self._method_of(owner, value, function)
            return
        scope: Function | None = function
        while scope is not None:
            made = self._project.walk(scope).assigned(name, before=1 << 30)
            yield from ((one.value, scope) for one in made[-8:])
            if made:
                return
            if name in scope.parameters:
                yield from self._given(name, scope)
                return
            scope = scope.parent

    def _expression(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        """Follow a value to what it is made of."""
        yield from self._once(self._parts, False, node, function, depth)

    def _parts(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        key = reads_logged(node, function, self._project)
        if key is not None:
            yield self._of_logged(node, key, function, depth)
        elif isinstance(node, ast.Call):
            yield from self._call(node, function, depth)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._name(node, function, depth)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            yield from self._comprehension(node, function, depth)
        elif isinstance(node, ast.Subscript):
            yield from self._subscript(node, function, depth)
        elif not isinstance(node, (ast.Lambda, ast.Constant)):
            for child in children(node):
                if isinstance(child, ast.expr):
                    yield from self._expression(child, function, depth)

    def _of_logged(self, node: ast.expr, key: ast.expr, function: Function, depth: int) -> Reason:
        """What a number depends on that was logged: each rank's own measure where nothing brings them together."""
        for one in logged_as(key, function, self._project):
            found = {reason.origin for reason in self._expression(one.value, one.function, depth + 1)}
            if not one.together and "agreed" not in found and found & {"batch", "measure", "part"}:
                return Reason("measure", function, node)
        return Reason("agreed", function, node)

    def _call(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        full, name = canonical(node.func, function.script), last(node.func)
        outside = of_library(full, node)
        target = self._project.target(node, function)
        given = (*node.args, *(w.value for w in node.keywords))
        if is_rank(node, lambda n: self._project.single(n, function)) or name.lstrip("_").lower() in FLAGS:
            yield Reason("rank", function, node)
        elif agrees(node, function, self._project):
            yield Reason("agreed", function, node)
        elif outside is not None:
            yield from self._outside(outside, node, function, depth)
        elif name in EVEN:
            yield from self._values_of(node.args[:1], function, depth + 1)
        elif target is not None:
            if any(i.category in TOGETHER for i in self._effects.of(target)):
                yield Reason("agreed", function, node)  # what comes back was made together
                return
            if not target.name.endswith("__init__"):
                for value, _ in self._project.walk(target).returns:
                    found = self._through(target, node, self._expression(value, target, depth + 1))
                    measures = MEASURES.search(name) and not is_generator(target)
                    yield from self._as_measure(found, node, function, target) if measures else found
            yield from self._values_of(given, function, depth + 1)
        elif name == "len" and node.args:
            counted = self._as_part(self._length(node.args[0], function, depth + 1))
            yield from (reason for reason in counted if reason.origin != "measure")
        elif name in SAME:
            return
        else:
            receiver = (node.func.value,) if isinstance(node.func, ast.Attribute) else ()
            found = self._values_of((*receiver, *given), function, depth + 1)
            yield from self._as_measure(found, node, function) if MEASURES.search(name) else found

    def _outside(self, origin: Origin, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        """What a call of another library brings in; a generator with one seed for all draws the same everywhere."""
        seeds = self._seeds(node, function) if origin == "chance" else []
        if not seeds or any(True for value, scope in seeds for _ in self._expression(value, scope, depth + 1)):
            yield Reason(origin, function, node)
        if origin == "file":  # which file it asks for
            asked = self._values_of((*node.args, *(word.value for word in node.keywords)), function, depth + 1)
            yield from (reason for reason in asked if reason.origin == "salt")

    def _seeds(self, node: ast.Call, function: Function) -> list[tuple[ast.expr, Function]]:
        """Return what the generator was seeded with from which a call draws; nothing where it has none of its own."""
        of = keyword(node, "generator") or (node.func.value if isinstance(node.func, ast.Attribute) else None)
        made = self._definitions(of, function) if isinstance(of, (ast.Name, ast.Attribute)) else ()
        seeded = ((value, scope) for value, scope in made if isinstance(value, ast.Call))
        return [(seed, scope) for value, scope in seeded if last(value.func) in _SEEDED for seed in value.args[:1]]

    def _through(self, target: Function, call: ast.Call, reasons: Iterator[Reason]) -> Iterator[Reason]:
        """Follow a function with the arguments of one call."""
        self._calls.append((target, call))
        try:
            yield from reasons
        finally:
            self._calls.pop()

    def _given(self, name: str, function: Function) -> Iterator[tuple[ast.expr, Function]]:
        call = next((call for target, call in reversed(self._calls) if target is function), None)
        yield from self._project.given(name, function, call)
        if [name] == function.parameters[1:2]:
            yield from self._project.keys_of(function)

    @staticmethod
    def _as_measure(
        reasons: Iterator[Reason], call: ast.Call, function: Function, inside: Function | None = None
    ) -> Iterator[Reason]:
        """What a call measures on batches; of a function of the project, on those that it takes out itself."""
        for reason in reasons:
            measured = reason.origin in {"batch", "part"} and inside in {None, reason.function}
            yield Reason("measure", function, call) if measured else reason

    @staticmethod
    def _as_part(reasons: Iterator[Reason]) -> Iterator[Reason]:
        for reason in reasons:
            yield Reason("part", reason.function, reason.node) if reason.origin == "rank" else reason

    def _subscript(self, node: ast.Subscript, function: Function, depth: int) -> Iterator[Reason]:
        item = item_of(node)
        if item is not None:
            made = list(self._made(cast("ast.Name | ast.Attribute", node.value), function, 0))
            if any(isinstance(value, ast.Dict) for value, _ in made):
                yield from self._under(item, made, function, depth + 1)
                return
        yield from self._as_part(self._expression(node.slice, function, depth))
        yield from self._expression(node.value, function, depth)

    def _made(
        self, node: ast.Name | ast.Attribute, function: Function, depth: int
    ) -> Iterator[tuple[ast.expr, Function]]:
        """Yield what a name stands for, through other names and arguments."""
        for value, scope in self._definitions(node, function):
            if isinstance(value, (ast.Name, ast.Attribute)) and depth < _MOST_NAMES:
                yield from self._made(value, scope, depth + 1)
            else:
                yield value, scope

    def _under(
        self, item: tuple[str, str], made: list[tuple[ast.expr, Function]], function: Function, depth: int
    ) -> Iterator[Reason]:
        """Follow what a dictionary that is written out holds under one key, and what is put there afterwards."""
        for value, scope in made:
            if not isinstance(value, ast.Dict):
                yield from self._expression(value, scope, depth)
                continue
            held = zip(value.keys, value.values, strict=True)
            named = (v for k, v in held if k is None or (isinstance(k, ast.Constant) and k.value == item[1]))
            yield from self._values_of(named, scope, depth)
        for put in self._project.walk(function).items.get(item, [])[-8:]:
            yield from self._expression(put.value, function, depth)
            if isinstance(put.value, ast.Constant):
                yield from self._values_of(put.where.tests, function, depth)

    def _comprehension(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        for generator in getattr(node, "generators", ()):
            for test in generator.ifs:
                yield from self._as_part(self._expression(test, function, depth))
            yield from self._expression(generator.iter, function, depth)
        for part in ("elt", "key", "value"):
            value = getattr(node, part, None)
            if value is not None:
                yield from self._expression(value, function, depth)

    def _name(self, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        if is_rank(node) or last(node).lstrip("_").lower() in FLAGS:
            if not self._is_left_out(node, function):
                yield Reason("rank", function, node)
            return
        name = dotted(node)
        if name and self._agreed(name, function, node.lineno):
            yield Reason("agreed", function, node)
            return
        if self._is_signalled(node, function):
            yield Reason("clock", function, node)
            return
        if isinstance(node, ast.Attribute) and not (name.startswith("self.") and name.count(".") == 1):
            fields = fields_of(node, self._project.holds_class(node.value, function))
            if fields is not None:
                yield from self._given_for(node, fields, function, depth)
                return
            held = list(self._held(node, function, depth))
            yield from held or self._expression(node.value, function, depth)
            return
        measured = bool(MEASURED.search(last(node))) and not kinds.kind_of(node, function, self._project, node.lineno)
        followed = list(self._values(name, function, node, depth))
        if measured and {r.origin for r in followed} <= {"batch", "measure", "part"}:
            yield Reason("measure", function, node)
        yield from followed
        if not followed and BATCHES.match(name) and not is_parameter(name, function):
            yield Reason("batch", function, node)

    def _is_signalled(self, node: ast.Name | ast.Attribute, function: Function) -> bool:
        """Whether a handler of signals sets it: `stop` of the module, `self.stop` of the object."""
        told = self._project.set_by_signals
        if not told:
            return False
        if isinstance(node, ast.Name):
            return node.id in told and node.id not in function.parameters
        return f"self.{node.attr}" in told

    def _is_left_out(self, node: ast.Name | ast.Attribute, function: Function) -> bool:
        """Whether it is an argument that has a constant for a default, and that no caller gives."""
        name = last(node)
        if not isinstance(node, ast.Name) or name not in function.parameters:
            return False
        if not isinstance(function.default(name), ast.Constant) or not self._project.callers(function):
            return False
        return not any(True for _ in self._given(name, function))

    def _held(self, node: ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow an attribute of an object that the project's own class makes, or what its property returns."""
        owner = self._project.holds_class(node.value, function)
        if owner is None and dotted(node.value) in _OF_TRAINERS:
            for value, method in self._project.held_under(node, function):
                yield from self._expression(value, method, depth + 1)
                yield from chain.from_iterable(
                    self._put_into(f"self.{node.attr}", one, depth + 1)
                    for one in (method.owner.methods.values() if method.owner else ())
                )
            return
        held = self._of_object(node, owner, function, depth + 1)
        made = [*self._made(node.value, function, 0)] if isinstance(node.value, (ast.Name, ast.Attribute)) else []
        for call, scope in made if len(made) == 1 else ():
            maker = self._project.target(call, scope) if isinstance(call, ast.Call) else None
            if maker is not None and maker.owner is owner:
                held = self._through(maker, cast("ast.Call", call), held)
        yield from held

    def _given_for(self, node: ast.Attribute, fields: Fields, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what is given for one field where an object without a constructor of its own is made."""
        made = self._made(node.value, function, 0) if isinstance(node.value, (ast.Name, ast.Attribute)) else ()
        for value, scope in made:
            maker = self._project.target(value, scope) if isinstance(value, ast.Call) else None
            returned = [] if maker is None else [one for one, _ in self._project.walk(maker).returns]
            for call in returned or [value]:
                given = fields.given(call, node.attr)
                if given is not None:
                    yield from self._expression(given, maker if returned and maker is not None else scope, depth + 1)

    def _of_object(self, node: ast.Attribute, owner: Class | None, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what the methods of a class put into an attribute."""
        for value in self._project.attribute_values(owner).get(node.attr, [])[:8]:
            yield from self._expression(value, self._method_of(owner, value, function), depth)
        method = self._project.method(owner, node.attr) if owner is not None else None
        for value, _ in self._project.walk(method).returns if method is not None else ():
            yield from self._expression(value, method or function, depth)

    def _values(self, name: str, function: Function, node: ast.Name | ast.Attribute, depth: int) -> Iterator[Reason]:
        if name.startswith("self."):
            yield from self._of_self(name, node, function, depth)
            return
        scope: Function | None = function
        while scope is not None:
            walk = self._project.walk(scope)
            made = walk.assigned(name, before=_NO_LINE)
            if scope is function:
                made = [one for one in made if _reaches(one, node.lineno)] or made
            made = self._since_agreed(made, scope, node.lineno)
            for one in made[-8:]:
                yield from self._assigned(one, scope, depth + 1)
            yield from self._put_into(name, scope, depth + 1)
            changed = walk.changes.get(name, [])[-8:]
            for one in changed:
                yield from self._expression(one.value, scope, depth + 1)
            # A counter is what the tests are under which it counts.
            for one in (*made[-8:], *changed):
                if isinstance(one.value, ast.Constant):
                    yield from self._values_of(one.where.decided, scope, depth + 1)
            if made:
                return
            if name in scope.parameters:
                yield from self._argument(name, scope, depth + 1)
                return
            scope = scope.parent

    def _assigned(self, made: Assignment, scope: Function, depth: int) -> Iterator[Reason]:
        """Follow what is assigned, or taken out by a loop, but for the count of `enumerate`."""
        if made.index != LOOPED and not self._is_loop_target(made.value, made.line, scope):
            for value, place in self._picked(made, scope):
                yield from self._expression(value, place, depth)
        elif made.index != 0 or not _is_enumerate(made.value):
            yield from self._drawn(made.value, scope, depth)

    def _picked(self, made: Assignment, scope: Function) -> list[tuple[ast.expr, Function]]:
        """Return what is assigned: of several values that a function gives back, the one that is meant."""
        target = self._project.target(made.value, scope) if isinstance(made.value, ast.Call) else None
        if target is None or made.index is None:
            return [(made.value, scope)]
        given = [value for value, _ in self._project.walk(target).returns]
        tuples = [value for value in given if isinstance(value, ast.Tuple) and made.index < len(value.elts)]
        if not given or len(tuples) < len(given):
            return [(made.value, scope)]
        return [(value.elts[made.index], target) for value in tuples]

    def _of_self(self, name: str, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow an attribute of the object: what its methods assign to it, count in it and put into it."""
        for value, method in self._definitions(node, function):
            yield from self._expression(value, method, depth + 1)
        yield from self._counted(name, function, depth + 1)
        owner = self._project.owner_of(function)
        for method in owner.methods.values() if owner is not None else ():
            yield from self._put_into(name, method, depth + 1)

    def _put_into(self, name: str, function: Function, depth: int) -> Iterator[Reason]:
        """A list is what a function puts into it."""
        for site in self._project.walk(function).puts.get(name, [])[-8:]:
            yield from self._values_of(site.node.args[:1], function, depth)

    def _counted(self, name: str, function: Function, depth: int) -> Iterator[Reason]:
        """A counter that is an attribute is what the tests are under which the methods of its class count."""
        owner = self._project.owner_of(function)
        for method in owner.methods.values() if owner is not None else ():
            walk = self._project.walk(method)
            for one in (*walk.assigned(name, before=_NO_LINE)[-8:], *walk.changes.get(name, [])[-8:]):
                if isinstance(one.value, ast.Constant):
                    yield from self._values_of(one.where.decided, method, depth)

    def _since_agreed(self, made: list[Assignment], function: Function, line: int) -> list[Assignment]:
        """Return assignments from the last one on that gives, above a use, what a collective has made equal."""
        first = 0
        for index, one in enumerate(made):
            parts = {dotted(part) for part in nodes(one.value)} - {""}
            if one.line < line and any(self._agreed(part, function, one.line) for part in parts):
                first = index
        return made[first:]

    def _is_loop_target(self, value: ast.expr, line: int, scope: Function) -> bool:
        return any(
            isinstance(loop, (ast.For, ast.AsyncFor)) and loop.lineno == line and loop.iter is value
            for site in self._project.walk(scope).sites
            for loop in site.where.loops
        )

    def _drawn(self, iterable: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        """What a loop takes out: a batch of a loader; a number of `range` is the same on all ranks."""
        names = {last(part) for part in nodes(iterable) if isinstance(part, (ast.Name, ast.Attribute))}
        if any(LOADERS.search(name) for name in names):
            yield Reason("batch", function, iterable)
            return
        yield from self._expression(iterable, function, depth)

    def _argument(self, name: str, function: Function, depth: int) -> Iterator[Reason]:
        given = list(self._given(name, function))
        for value, caller in given:
            yield from self._expression(value, caller, depth)
        # Who calls a model's forward is not to be seen: it gets a batch.
        batch = BATCHES.match(name) and may_be_batch(function, name)
        if not given and (batch or function.name.endswith(".forward")):
            yield Reason("batch", function, function.node)

    def _method_of(self, owner: Class | None, value: ast.expr, function: Function) -> Function:
        methods = owner.methods.values() if owner is not None else ()
        return next(
            (
                m
                for m in methods
                if not isinstance(m.node, ast.Module) and m.node.lineno <= value.lineno <= (m.node.end_lineno or 0)
            ),
            function,
        )

    def _agreed(self, name: str, function: Function, line: int) -> bool:
        """Whether a collective made the value the same on all ranks above this line."""
        if id(function) not in self._made_equal:
            first: dict[str, int] = {}
            for site in self._project.walk(function).sites:
                if agrees(site.node, function, self._project):
                    for part in (p for argument in site.node.args[:2] for p in nodes(argument)):
                        if known := dotted(part):
                            first[known] = min(site.node.lineno, first.get(known, _NO_LINE))
            self._made_equal[id(function)] = first
        return self._made_equal[id(function)].get(name, _NO_LINE) <= line


def _is_enumerate(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == "enumerate"
