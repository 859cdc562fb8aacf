"""Goes through a project's code as if it ran, across functions and files, and notes what is done to which object.

Nothing is run: both ways of a test are taken one after the other, loops twice, and what is not known stays open.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from distkb.evidence.readers.scripts.calls import Call, from_library
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.names import dotted, last
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.things import Event, EventKind, Mark, Thing, combined, element, joined, taken

MAX_STEPS = 300_000
"""Statements and expressions of one project that are gone through."""
MAX_WRITTEN = 64
"""Elements of a list, a set or a dictionary that is written out which are looked at."""
MAX_DEPTH = 110
"""Expressions, statements and calls in one another."""
MAX_RUNS = 24
"""Times that one function is gone through."""

_TELLS = re.compile(r"(?i)rank|world|num_processes|process_index|worker_id")

"""Names that show that what is made of a rank's own is meant to differ, or counts all ranks."""


_COUNTS = frozenset({"num_processes", "world_size"})
"""Attributes that hold the number of ranks."""
_OF_RANKS = frozenset({"processes", "world"})
"""Kinds of things that are the number of ranks."""


class Interpreter:
    """Goes through code; what it notes stands in `episodes`, one for each beginning."""

    def __init__(self, job: ScriptContext) -> None:
        self.job = job
        self.project = job.project
        self.episodes: list[list[Event]] = []
        self._globals: dict[int, dict[str, Thing]] = {}
        self._runs: dict[int, int] = {}
        self._busy: set[int] = set()
        self.steps = self._depth = 0
        self._guards = 0
        self._calls: list[tuple[Function, ast.expr]] = []
        self._blocks: list[str] = []
        self._sides: dict[int, dict[int, bool]] = {}
        self._orders: list[ast.expr | None] = []
        for script in job.project.scripts:
            self.episodes.append([])
            module = job.project.modules[id(script)]
            self._runs[id(module)] = 1
            self._globals[id(script)] = {}
            self._block(script.tree.body, module, self._globals[id(script)], [])
        for function in sorted(job.project.functions, key=lambda function: bool(job.project.callers(function))):
            if id(function) not in self._runs:
                self._begin(function)

    def _begin(self, function: Function) -> None:
        """Go through a function that nothing was seen to call, with open arguments."""
        self.episodes.append([])
        own: list[Thing] = []
        if function.is_method and function.owner is not None:
            own = [self._made(function.owner, [], {})]
        self.run(function, own, {name: Thing() for name in function.parameters[len(own) :]})

    def note(self, kind: EventKind, function: Function, node: ast.expr | ast.stmt, *things: Thing, value: object = None,
             source: ast.expr | None = None) -> None:  # fmt: skip
        """Note what is done here."""
        caller = self._calls[-1] if self._calls else None
        self.episodes[-1].append(Event(kind, function, node, things, value, self._guards > 0, caller, source))

    @property
    def is_cut(self) -> bool:
        """Whether the project is too large, so that what was not seen may well be there."""
        return self.steps >= MAX_STEPS

    @property
    def is_in_set(self) -> bool:
        """Whether a loop around the place goes through a set."""
        return any(self._orders)

    @property
    def order(self) -> ast.expr | None:
        """The set that the innermost loop around the place goes through; None where it goes through anything else."""
        return self._orders[-1] if self._orders else None

    @property
    def blocks(self) -> list[str]:
        """Names of the calls of the `with` blocks around the place."""
        return self._blocks

    def run(self, function: Function, given: list[Thing], words: dict[str, Thing]) -> Thing:
        """Go through a function of the project and return what it returns."""
        key = id(function)
        if key in self._busy or self._runs.get(key, 0) >= MAX_RUNS or isinstance(function.node, ast.Module):
            return Thing()
        self._runs[key] = self._runs.get(key, 0) + 1
        self._busy.add(key)
        scope = self._bound(function, given, words)
        returned: list[Thing] = []
        blocks, self._blocks = self._blocks, list(self._blocks)
        self._block(function.node.body, function, scope, returned)
        self._blocks = blocks
        self._busy.discard(key)
        result = returned[0] if returned else Thing()
        for other in returned[1:]:
            result = joined(result, other)
        return result

    def _bound(self, function: Function, given: list[Thing], words: dict[str, Thing]) -> dict[str, Thing]:
        scope: dict[str, Thing] = {}
        if isinstance(function.node, ast.Module):
            return scope
        arguments = function.node.args
        named = [*arguments.posonlyargs, *arguments.args]
        for argument, default in zip(reversed(named), reversed(arguments.defaults), strict=False):
            scope[argument.arg] = self.value(default, function, {})
        for argument, standard in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            scope[argument.arg] = Thing() if standard is None else self.value(standard, function, {})
        for argument in named:
            scope.setdefault(argument.arg, Thing())
        scope.update(zip((argument.arg for argument in named), given, strict=False))
        scope.update({name: thing for name, thing in words.items() if name in scope})
        return scope

    def _block(
        self, body: Iterable[ast.stmt], function: Function, scope: dict[str, Thing], returned: list[Thing]
    ) -> None:
        for statement in body:
            if self.steps >= MAX_STEPS or self._depth >= MAX_DEPTH:
                return
            self.steps += 1
            self._depth += 1
            self._statement(statement, function, scope, returned)
            self._depth -= 1
            if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                return

    def _statement(
        self, statement: ast.stmt, function: Function, scope: dict[str, Thing], returned: list[Thing]
    ) -> None:
        if isinstance(statement, ast.Return) and statement.value is not None:
            returned.append(self.value(statement.value, function, scope))
        elif isinstance(statement, ast.Assign):
            self._assign(statement, function, scope)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._put(statement.target, self.value(statement.value, function, scope), function, scope)
        elif isinstance(statement, ast.AugAssign):
            old, new = self.value(statement.target, function, scope), self.value(statement.value, function, scope)
            self._put(statement.target, combined([old, new]), function, scope)
        elif isinstance(statement, ast.Expr):
            self.value(statement.value, function, scope)
        elif isinstance(statement, ast.If):
            self._branch(statement, function, scope, returned)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._loop(statement, function, scope, returned)
        elif isinstance(statement, ast.While):
            self.value(statement.test, function, scope)
            self._block(statement.body, function, scope, returned)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            self._with(statement, function, scope, returned)
        elif isinstance(statement, ast.Try):
            self._block(statement.body, function, scope, returned)
            for handler in statement.handlers:
                self._block(handler.body, function, dict(scope), returned)
            self._block((*statement.orelse, *statement.finalbody), function, scope, returned)

    def _assign(self, statement: ast.Assign, function: Function, scope: dict[str, Thing]) -> None:
        thing = self.value(statement.value, function, scope)
        for target in statement.targets:
            self._put(target, thing, function, scope)

    def _put(self, target: ast.expr, thing: Thing, function: Function, scope: dict[str, Thing]) -> None:
        if isinstance(target, ast.Name):
            scope[target.id] = thing
        elif isinstance(target, (ast.Tuple, ast.List)):
            for index, one in enumerate(target.elts):
                inner = one.value if isinstance(one, ast.Starred) else one
                has = thing.items is not None and index < len(thing.items)
                self._put(inner, thing.items[index] if has and thing.items else element(thing), function, scope)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, function, scope)
            if target.attr == "requires_grad":
                value = thing.value if isinstance(thing.value, bool) else None
                self.note("grad", function, target, *owner.models(), value=value)
            elif owner.kind != "wrapped":
                if thing.kind == "layer" or thing.is_model:
                    self.note("exchange", function, target, owner, value="part")
                owner.parts[target.attr] = thing
                if thing.whole is None and not thing.is_literal and all(thing is not one for one in owner.wholes()):
                    thing.whole = owner
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value, function, scope)
            if not isinstance(target.slice, ast.Constant):
                owner.filled(self.order)
            if len(owner.holds) < MAX_RUNS and not thing.is_plain and thing is not owner:
                owner.holds.append(thing)

    def _branch(self, statement: ast.If, function: Function, scope: dict[str, Thing], returned: list[Thing]) -> None:
        known = self.value(statement.test, function, scope).value
        if isinstance(known, bool) or known is None:
            self._block(statement.body if known else statement.orelse, function, scope, returned)
            return
        other = dict(scope)
        self._block(statement.body, function, scope, returned)
        self._block(statement.orelse, function, other, returned)
        for name, thing in other.items():
            scope[name] = joined(scope[name], thing) if name in scope else thing

    def _loop(
        self, statement: ast.For | ast.AsyncFor, function: Function, scope: dict[str, Thing], returned: list[Thing]
    ) -> None:
        over = self.value(statement.iter, function, scope)
        source = over.has("unordered")
        if source is not None:
            self.note("loop", function, statement, over, source=source)
        self._orders.append(source)
        for _ in range(2):
            self._put(statement.target, element(over), function, scope)
            self._block(statement.body, function, scope, returned)
        self._orders.pop()
        self._block(statement.orelse, function, scope, returned)

    def _with(
        self, statement: ast.With | ast.AsyncWith, function: Function, scope: dict[str, Thing], returned: list[Thing]
    ) -> None:
        before = len(self._blocks)
        for item in statement.items:
            thing = self.value(item.context_expr, function, scope)
            if isinstance(item.context_expr, ast.Call):
                self._blocks.append(last(item.context_expr.func))
            if item.optional_vars is not None:
                self._put(item.optional_vars, thing, function, scope)
        self._block(statement.body, function, scope, returned)
        del self._blocks[before:]

    def value(self, node: ast.expr, function: Function, scope: dict[str, Thing]) -> Thing:
        """Return what an expression gives, and do what it does."""
        if self._depth >= MAX_DEPTH or self.steps >= MAX_STEPS:
            return Thing()
        self.steps += 1
        self._depth += 1
        found = self._value(node, function, scope)
        self._depth -= 1
        return found

    def _value(self, node: ast.expr, function: Function, scope: dict[str, Thing]) -> Thing:
        kind = _KINDS.get(type(node))
        if kind is not None:
            found: Thing = getattr(self, kind)(node, function, scope)
            return found
        if isinstance(node, ast.Lambda):
            return self._closure([node.body], scope)
        if isinstance(node, (ast.Constant, ast.Yield, ast.YieldFrom)):
            return Thing(value=node.value) if isinstance(node, ast.Constant) else Thing()
        inside = [self.value(part, function, scope) for part in islice(_operands(node), MAX_WRITTEN)]
        if isinstance(node, ast.Dict):
            holds = [thing for thing in inside if not thing.is_plain]
            return Thing(kind="dict", holds=holds, is_empty=not node.keys and not self.is_in_set)
        found = combined(inside)
        if _of_keys(node):
            found.marks.setdefault("unordered", node)
        counted = any(thing.kind in _OF_RANKS for thing in inside)
        if found.marks and (counted or _TELLS.search(" ".join(_texts(node)))):
            found.marks = {mark: source for mark, source in found.marks.items() if mark == "unordered"}
        return found

    def _either(self, node: ast.IfExp, function: Function, scope: dict[str, Thing]) -> Thing:
        self.value(node.test, function, scope)
        return joined(self.value(node.body, function, scope), self.value(node.orelse, function, scope))

    def _subscript(self, node: ast.Subscript, function: Function, scope: dict[str, Thing]) -> Thing:
        whole = self.value(node.value, function, scope)
        source = whole.marks.get("unordered") if isinstance(node.slice, ast.Slice) else None
        if source is not None:
            return Thing(holds=whole.holds, marks={"unordered": source})
        return taken(whole, self.value(node.slice, function, scope))

    def _display(self, node: ast.Tuple | ast.List | ast.Set, function: Function, scope: dict[str, Thing]) -> Thing:
        items = [self.value(one, function, scope) for one in node.elts[:MAX_WRITTEN]]
        if isinstance(node, ast.Set):
            numbers = bool(items) and all(isinstance(item.value, (int, float)) for item in items)
            return Thing(holds=items, marks={} if numbers else {"unordered": node})
        return Thing(items=items, is_empty=not items and isinstance(node, ast.List) and not self.is_in_set)

    def _named_expression(self, node: ast.NamedExpr, function: Function, scope: dict[str, Thing]) -> Thing:
        thing = self.value(node.value, function, scope)
        self._put(node.target, thing, function, scope)
        return thing

    def _named(self, node: ast.Name, function: Function, scope: dict[str, Thing]) -> Thing:
        if node.id in scope:
            return scope[node.id]
        inner = function.inner.get(node.id)
        if inner is not None and not isinstance(function.node, ast.Module):
            return self._closure(inner.node.body, scope)
        return self._globals.get(id(function.script), {}).get(node.id) or Thing()

    @staticmethod
    def _closure(body: Iterable[ast.AST], scope: dict[str, Thing]) -> Thing:
        """Return a function that keeps a count of its surroundings: what it was counted on stays known."""
        parts = [part for statement in body for part in nodes(statement)]
        if any(isinstance(part, (ast.Name, ast.Attribute)) and _TELLS.search(last(part)) for part in parts):
            return Thing()
        found: dict[Mark, ast.expr] = {}
        for part in parts:
            kept = scope.get(part.id) if isinstance(part, ast.Name) else None
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in scope:
                kept = scope[part.value.id].parts.get(part.attr)
            if kept is not None and kept.kind in _OF_RANKS:
                return Thing()
            if kept is not None and "per-process" in kept.marks:
                found.setdefault("per-process", kept.marks["per-process"])
        return Thing(marks=found)

    def _attribute(self, node: ast.Attribute, function: Function, scope: dict[str, Thing]) -> Thing:
        owner = self.value(node.value, function, scope)
        if owner.cls is not None and node.attr not in owner.parts:
            method = self.project.method(owner.cls, node.attr)
            if method is not None and not isinstance(method.node, ast.Module):
                if any(last(one) in {"property", "cached_property"} for one in method.node.decorator_list):
                    return self.run(method, [owner], {})
                return Thing(kind="function")
        if node.attr in _COUNTS and not owner.parts.get(node.attr, Thing()).is_literal:
            return Thing(kind="processes")
        return owner.part(node.attr)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        function: Function,
        scope: dict[str, Thing],
    ) -> Thing:
        inner = dict(scope)
        over: Thing | None = None
        for generator in node.generators:
            thing = self.value(generator.iter, function, inner)
            over = thing if over is None else over
            source = thing.has("unordered")
            if source is not None:
                self.note("loop", function, node, thing, source=source)
            self._put(generator.target, element(thing), function, inner)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        made = [self.value(one, function, inner) for one in elements]
        marks: dict[Mark, ast.expr] = {}
        source = None if over is None else over.has("unordered")
        if isinstance(node, ast.SetComp):
            marks["unordered"] = node
        elif source is not None:
            marks["unordered"] = source
        return Thing(holds=[thing for thing in made if not thing.is_plain], marks=marks)

    def _call(self, call: ast.Call, function: Function, scope: dict[str, Thing]) -> Thing:
        owner = self.value(call.func.value, function, scope) if isinstance(call.func, ast.Attribute) else None
        given = [self.value(one.value if isinstance(one, ast.Starred) else one, function, scope) for one in call.args]
        words = {word.arg or "": self.value(word.value, function, scope) for word in call.keywords}
        maker = scope.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if maker is not None and maker.kind == "class" and maker.cls is not None:
            return self._made(maker.cls, given, words)
        one_side = self._is_one_sided(call, function)
        self._guards += one_side
        found = self._called(call, function, owner, given, words)
        self._guards -= one_side
        return found

    def _called(
        self, call: ast.Call, function: Function, owner: Thing | None, given: list[Thing], words: dict[str, Thing]
    ) -> Thing:
        if owner is not None and owner.cls is not None and isinstance(call.func, ast.Attribute):
            method = self.project.method(owner.cls, call.func.attr)
            if method is not None:
                return self._ran(call, function, method, [owner, *given] if method.is_method else given, words)
        cls = self.project.class_named(call.func, function.script)
        if cls is not None:
            return self._made(cls, given, words)
        target = self.project.target(call, function)
        if target is not None:
            return self._ran(call, function, target, [_receiver(target), *given] if target.is_method else given, words)
        return from_library(Call(self, call, function, owner, given, words))

    def _ran(
        self, call: ast.Call, function: Function, target: Function, given: list[Thing], words: dict[str, Thing]
    ) -> Thing:
        self._calls.append((function, call))
        found = self.run(target, given, words)
        self._calls.pop()
        return found

    def _made(self, cls: Class, given: list[Thing], words: dict[str, Thing]) -> Thing:
        thing = Thing(cls=cls)
        init = self.project.method(cls, "__init__")
        if init is not None:
            self.run(init, [thing, *given], words)
        return thing

    def _is_one_sided(self, call: ast.Call, function: Function) -> bool:
        known = self._sides.get(id(function))
        if known is None:
            known = {id(site.node): site.where.side != "both" for site in self.project.walk(function).sites}
            self._sides[id(function)] = known
        return known.get(id(call), False)


_KINDS: dict[type[ast.AST], str] = {
    ast.Name: "_named",
    ast.Call: "_call",
    ast.Attribute: "_attribute",
    ast.IfExp: "_either",
    ast.Subscript: "_subscript",
    ast.NamedExpr: "_named_expression",
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), "_comprehension"),
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), "_display"),
}
"""The method for each kind of expression."""


def _receiver(method: Function) -> Thing:
    """What a method called by its class gets first: the class itself, or an object of which nothing is known."""
    marked = () if isinstance(method.node, ast.Module) else method.node.decorator_list
    is_of_class = any(last(one) == "classmethod" for one in marked)
    return Thing(kind="class", cls=method.owner) if is_of_class and method.owner is not None else Thing()


def _of_keys(node: ast.expr) -> bool:
    """Whether an expression makes a set of a dictionary's keys: `a.keys() & b.keys()`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)):
        return False
    return any(isinstance(side, ast.Call) and last(side.func) == "keys" for side in (node.left, node.right))


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.FormattedValue):
            yield part.value
        elif isinstance(part, ast.expr):
            yield part


def _texts(node: ast.expr) -> Iterator[str]:
    for part in nodes(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            yield dotted(part) or last(part)
