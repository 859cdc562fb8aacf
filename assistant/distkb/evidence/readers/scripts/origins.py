"""What a value of the script depends on that may be different on every rank, followed through the project's code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.amounts import amounts, is_parameter, may_be_batch
from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.collectives import TOGETHER, agrees
from distkb.evidence.readers.scripts.definitions import around
from distkb.evidence.readers.scripts.effects import is_generator
from distkb.evidence.readers.scripts.fields import Fields, fields_of
from distkb.evidence.readers.scripts.flow import LOOPED, Assignment, item_of
from distkb.evidence.readers.scripts.lengths import Lengths
from distkb.evidence.readers.scripts.logged import logged_as, reads_logged
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, canonical, dotted, last
from distkb.evidence.readers.scripts.nodes import children, nodes
from distkb.evidence.readers.scripts.outside import (
    BATCHES,
    DEVICES,
    EVEN,
    LOADERS,
    MEASURED,
    MEASURES,
    PLACES,
    READERS,
    SAME,
    Origin,
    Reason,
    of_library,
)
from distkb.evidence.readers.scripts.ranks import FLAGS, is_rank
from distkb.evidence.readers.scripts.trail import MOST, Trail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.definitions import Class, Function
    from distkb.evidence.readers.scripts.effects import Effects
    from distkb.evidence.readers.scripts.made import Meaning
    from distkb.evidence.readers.scripts.project import Project

MOST_FOLLOWED = 60_000
"""Expressions looked at in one project. The largest public ones need fewer than 5,000."""
_DEPTH = 9
_NESTED = 60
"""Expressions in one another that are followed."""
_OF_TRAINERS = frozenset({"pl_module", "trainer.lightning_module", "module"})
"""Names of a callback's model, whose class the project has."""
Follow = Callable[[ast.expr, "Function", int], Iterable[Reason]]


class Origins:
    """Follows values through assignments, arguments, attributes and the functions of the project."""

    def __init__(self, project: Project, effects: Effects) -> None:
        self._project = project
        self._effects = effects
        self._trail = Trail(project)
        self._lengths = Lengths(project, self, self._trail)
        self._level = 0
        self.left = MOST_FOLLOWED
        """Expressions that are still looked at; afterwards nothing more is found."""
        self._known: dict[tuple[int, int, str, tuple[int, ...]], tuple[Reason, ...]] = {}
        """What was found of an expression: of its value, and of its length, below which calls; nothing while it is
        being looked at."""

    def of(self, node: ast.expr, function: Function) -> list[Reason]:
        """Return what a value depends on, the nearest first."""
        return self._asked(self.value(node, function, 0))

    def depends(self, given: Iterable[ast.expr], function: Function, *origins: str) -> bool:
        """Whether any of several values depends on one of these."""
        return any(reason.origin in origins for node in given for reason in self.of(node, function))

    def is_agreed(self, node: ast.expr, function: Function) -> bool:
        """Return whether a value is made of something that a collective made the same on all ranks."""
        self._known.clear()
        return any(reason.origin == "agreed" for reason in self.value(node, function, 0))

    def of_amounts(self, test: ast.expr, function: Function) -> list[Reason]:
        """Return what the parts of a test depend on that compare how much something is, or call something to find out.

        Whether something is there at all, or which kind, is a matter of settings more often than not.
        """
        return [reason for part, scope in amounts(test, function, self._project) for reason in self.of(part, scope)]

    def of_length(self, node: ast.expr, function: Function) -> list[Reason]:
        """Return what decides how often a loop over a value goes round; that it is the rank's is said as its part."""
        return self._asked(_as_part(self._lengths.of(node, function, 0)))

    def _asked(self, reasons: Iterable[Reason]) -> list[Reason]:
        self._known.clear()
        found = _nearest(reasons)
        found.pop("agreed", None)
        return list(found.values())

    def once(self, follow: Follow, node: ast.expr, function: Function, depth: int) -> tuple[Reason, ...]:
        """Return what following an expression in one way finds, which is done once for each question."""
        if depth > _DEPTH or self._level > _NESTED or self.left <= 0:
            return ()
        key = (id(node), id(function), follow.__qualname__, self._trail.calls)
        if key not in self._known:
            self.left -= 1
            self._known[key] = ()
            self._level += 1
            found = _nearest(follow(node, function, depth))
            self._level -= 1
            self._known[key] = tuple(found.values())
        return self._known[key]

    def value(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        """Follow a value to what it is made of."""
        yield from self.once(self._parts, node, function, depth)

    def values(self, nodes: Iterable[ast.expr], function: Function, depth: int) -> Iterator[Reason]:
        """Follow several values, one after the other."""
        for node in nodes:
            yield from self.value(node, function, depth)

    def _meanings(self, found: Iterable[Meaning], depth: int) -> Iterator[Reason]:
        for value, scope in found:
            yield from self.value(value, scope, depth)

    def _parts(self, node: ast.expr, function: Function, depth: int) -> Iterator[Reason]:
        key = reads_logged(node, function, self._project)
        if key is not None:
            yield self._of_logged(node, key, function, depth)
        elif isinstance(node, ast.Call):
            yield from self._call(node, function, depth)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._name(node, function, depth)
        elif isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                yield from _as_part(self.values(generator.ifs, function, depth))
                yield from self.value(generator.iter, function, depth)
            made = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            yield from self.values(made, function, depth)
        elif isinstance(node, ast.Subscript):
            yield from self._subscript(node, function, depth)
        elif not isinstance(node, (ast.Lambda, ast.Constant)):
            yield from self.values((one for one in children(node) if isinstance(one, ast.expr)), function, depth)

    def _of_logged(self, node: ast.expr, key: ast.expr, function: Function, depth: int) -> Reason:
        """What a number depends on that was logged: each rank's own measure where nothing brings them together."""
        for one in logged_as(key, function, self._project):
            found = {reason.origin for reason in self.value(one.value, one.function, depth + 1)}
            if not one.together and "agreed" not in found and found & {"batch", "measure", "part"}:
                return Reason("measure", function, node)
        return Reason("agreed", function, node)

    def _call(self, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        full, name = canonical(node.func, function.script), last(node.func)
        outside = of_library(full, node)
        target = self._project.target(node, function)
        placed = isinstance(node.func, ast.Attribute) and name in PLACES
        given = (*(() if placed else node.args), *(w.value for w in node.keywords if w.arg not in DEVICES))
        if is_rank(node, lambda n: self._project.single(n, function)) or name.lstrip("_").lower() in FLAGS:
            yield Reason("rank", function, node)
        elif agrees(node, function, self._project):
            yield Reason("agreed", function, node)
        elif outside is not None:
            yield from self._outside(outside, node, function, depth)
        elif name in EVEN:
            yield from self.values(node.args[:1], function, depth + 1)
        elif target is not None:
            if any(i.category in TOGETHER for i in self._effects.of(target)):
                yield Reason("agreed", function, node)  # what comes back was made together
                return
            for value, _ in self._project.returned(node, function):
                found = self._trail.through(target, node, self.value(value, target, depth + 1))
                measures = MEASURES.search(name) and not is_generator(target)
                yield from _as_measure(found, node, function, target) if measures else found
            yield from self.values(given, function, depth + 1)
        elif name == "len" and node.args:
            counted = _as_part(self._lengths.of(node.args[0], function, depth + 1))
            yield from (reason for reason in counted if reason.origin != "measure")
        elif name in SAME:
            return
        else:
            receiver = (node.func.value,) if isinstance(node.func, ast.Attribute) else ()
            found = self.values((*receiver, *given), function, depth + 1)
            if READERS.match(full):  # what a rank saved itself is no matter of its number
                found = (reason for reason in found if reason.origin != "rank")
            yield from _as_measure(found, node, function) if MEASURES.search(name) else found

    def _outside(self, origin: Origin, node: ast.Call, function: Function, depth: int) -> Iterator[Reason]:
        """What a call of another library brings in; a generator with one seed for all draws the same everywhere."""
        seeds = self._trail.seeds(node, function) if origin == "chance" else []
        if not seeds or any(True for _ in self._meanings(seeds, depth + 1)):
            yield Reason(origin, function, node)
        if origin == "file":  # which file it asks for
            asked = self.values(arguments(node), function, depth + 1)
            yield from (reason for reason in asked if reason.origin == "salt")

    def _subscript(self, node: ast.Subscript, function: Function, depth: int) -> Iterator[Reason]:
        if is_rank(node):  # of the environment
            yield Reason("rank", function, node)
            return
        item = item_of(node)
        made = list(self._trail.behind(node.value, function)) if item is not None else []
        if item is not None and any(isinstance(value, ast.Dict) for value, _ in made):
            yield from self._under(item, made, function, depth + 1)
            return
        yield from _as_part(self.value(node.slice, function, depth))
        yield from self.value(node.value, function, depth)

    def _under(self, item: tuple[str, str], made: list[Meaning], function: Function, depth: int) -> Iterator[Reason]:
        """Follow what a dictionary that is written out holds under one key, and what is put there afterwards."""
        for value, scope in made:
            if not isinstance(value, ast.Dict):
                yield from self.value(value, scope, depth)
                continue
            held = zip(value.keys, value.values, strict=True)
            named = (v for k, v in held if k is None or (isinstance(k, ast.Constant) and k.value == item[1]))
            yield from self.values(named, scope, depth)
        for put in self._project.walk(function).items.get(item, [])[-MOST:]:
            yield from self.value(put.value, function, depth)
            if isinstance(put.value, ast.Constant):
                yield from self.values(put.where.tests, function, depth)

    def _name(self, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        if is_rank(node) or last(node).lstrip("_").lower() in FLAGS:
            if not self._is_left_out(node, function):
                yield Reason("rank", function, node)
            return
        name = dotted(node)
        if name and self._effects.made_equal(name, function, node.lineno):
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
            yield from held or self.value(node.value, function, depth)
            return
        measured = bool(MEASURED.search(last(node))) and not kinds.kind_of(node, function, self._project, node.lineno)
        follow = self._of_self if name.startswith("self.") else self._of_name
        followed = list(follow(name, node, function, depth))
        if measured and {r.origin for r in followed} <= {"batch", "measure", "part"}:
            yield Reason("measure", function, node)
        yield from followed
        if not followed and BATCHES.match(name) and not is_parameter(name, function):
            yield Reason("batch", function, node)

    def _is_signalled(self, node: ast.Name | ast.Attribute, function: Function) -> bool:
        """Whether a handler of signals sets it: `stop` of the module, `self.stop` of the object."""
        told = self._project.set_by_signals
        if isinstance(node, ast.Name):
            return node.id in told and node.id not in function.parameters
        return bool(told) and f"self.{node.attr}" in told

    def _is_left_out(self, node: ast.Name | ast.Attribute, function: Function) -> bool:
        """Whether it is an argument that has a constant for a default, and that no caller gives."""
        name = last(node)
        if not isinstance(node, ast.Name) or name not in function.parameters:
            return False
        if not isinstance(function.default(name), ast.Constant) or not self._project.callers(function):
            return False
        return not any(True for _ in self._trail.given(name, function))

    def _held(self, node: ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow an attribute of an object that the project's own class makes, or what its property returns."""
        owner = self._project.holds_class(node.value, function)
        if owner is None and dotted(node.value) in _OF_TRAINERS:
            for value, method in self._project.held_under(node, function):
                yield from self.value(value, method, depth + 1)
                yield from self._put_into_own(f"self.{node.attr}", method.owner, depth + 1)
            return
        held = self._of_object(node, owner, function, depth + 1)
        made = [*self._trail.behind(node.value, function)]
        for call, scope in made if len(made) == 1 else ():
            maker = self._project.target(call, scope) if isinstance(call, ast.Call) else None
            if isinstance(call, ast.Call) and maker is not None and maker.owner is owner:
                held = self._trail.through(maker, call, held)
        yield from held

    def _given_for(self, node: ast.Attribute, fields: Fields, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what is given for one field where an object without a constructor of its own is made."""
        for value, scope in self._trail.behind(node.value, function):
            for call, place in self._project.returned(value, scope) or [(value, scope)]:
                given = fields.given(call, node.attr)
                if given is not None:
                    yield from self.value(given, place, depth + 1)

    def _of_object(self, node: ast.Attribute, owner: Class | None, function: Function, depth: int) -> Iterator[Reason]:
        """Follow what the methods of a class put into an attribute."""
        for value in self._project.attribute_values(owner).get(node.attr, [])[:MOST]:
            yield from self.value(value, around(value, owner, function), depth)
        method = self._project.method(owner, node.attr) if owner is not None else None
        for value, _ in self._project.walk(method).returns if method is not None else ():
            yield from self.value(value, method or function, depth)

    def _of_name(self, name: str, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow a variable: what it is assigned, what is put into it, counted in it or given for it."""
        scope: Function | None = function
        while scope is not None:
            walk = self._project.walk(scope)
            made = walk.assigned(name)
            if scope is function:
                made = [one for one in made if _reaches(one, node.lineno)] or made
            made = self._since_agreed(made, scope, node.lineno)
            for one in made[-MOST:]:
                yield from self._assigned(one, scope, depth + 1)
            yield from self._put_into(name, scope, depth + 1)
            changed = walk.changes.get(name, [])[-MOST:]
            yield from self.values((one.value for one in changed), scope, depth + 1)
            yield from self._counted((*made[-MOST:], *changed), scope, depth + 1)
            if made:
                return
            if name in scope.parameters:
                yield from self._argument(name, scope, depth + 1)
                return
            scope = scope.parent

    def _of_self(self, name: str, node: ast.Name | ast.Attribute, function: Function, depth: int) -> Iterator[Reason]:
        """Follow an attribute of the object: what its methods assign to it, count in it and put into it."""
        yield from self._meanings(self._trail.definitions(node, function), depth + 1)
        owner = self._project.owner_of(function)
        for method in owner.methods.values() if owner is not None else ():
            walk = self._project.walk(method)
            made = (*walk.assigned(name)[-MOST:], *walk.changes.get(name, [])[-MOST:])
            yield from self._counted(made, method, depth + 1)
        yield from self._put_into_own(name, owner, depth + 1)

    def _assigned(self, made: Assignment, scope: Function, depth: int) -> Iterator[Reason]:
        """Follow what is assigned, or taken out by a loop, but for the count of `enumerate`."""
        if made.index != LOOPED and id(made.value) not in self._project.walk(scope).iterated:
            yield from self._meanings(self._trail.assigned(made, scope), depth)
        elif made.index != 0 or not (isinstance(made.value, ast.Call) and last(made.value.func) == "enumerate"):
            # A batch of a loader; a number of `range` is the same on all ranks.
            names = {last(part) for part in nodes(made.value) if isinstance(part, (ast.Name, ast.Attribute))}
            is_batch = any(LOADERS.search(name) for name in names)
            yield from [Reason("batch", scope, made.value)] if is_batch else self.value(made.value, scope, depth)

    def _put_into_own(self, name: str, owner: Class | None, depth: int) -> Iterator[Reason]:
        for method in owner.methods.values() if owner is not None else ():
            yield from self._put_into(name, method, depth)

    def _put_into(self, name: str, function: Function, depth: int) -> Iterator[Reason]:
        """A list is what a function puts into it."""
        for site in self._project.walk(function).puts.get(name, [])[-MOST:]:
            yield from self.values(site.node.args[:1], function, depth)

    def _counted(self, made: Iterable[Assignment], function: Function, depth: int) -> Iterator[Reason]:
        """A counter is what the tests are under which it counts."""
        for one in made:
            if isinstance(one.value, ast.Constant):
                yield from self.values(one.where.decided, function, depth)

    def _since_agreed(self, made: list[Assignment], function: Function, line: int) -> list[Assignment]:
        """Return assignments from the last one on that gives, above a use, what a collective has made equal."""
        first = 0
        for index, one in enumerate(made):
            parts = {dotted(part) for part in nodes(one.value)} - {""}
            if one.line < line and any(self._effects.made_equal(part, function, one.line) for part in parts):
                first = index
        return made[first:]

    def _argument(self, name: str, function: Function, depth: int) -> Iterator[Reason]:
        given = list(self._trail.given(name, function))
        yield from self._meanings(given, depth)
        # Who calls a model's forward is not to be seen: it gets a batch.
        batch = BATCHES.match(name) and may_be_batch(function, name)
        if not given and (batch or function.name.endswith(".forward")):
            yield Reason("batch", function, function.node)


def _reaches(made: Assignment, line: int) -> bool:
    """Whether what was assigned may be there at a line of the same function: above it, or in a loop around both."""
    return made.line <= line or any(loop.lineno <= line <= (loop.end_lineno or 0) for loop in made.where.loops)


def _nearest(reasons: Iterable[Reason]) -> dict[Origin, Reason]:
    """Return the first reason of each origin."""
    found: dict[Origin, Reason] = {}
    for reason in reasons:
        found.setdefault(reason.origin, reason)
    return found


def _as_measure(
    reasons: Iterable[Reason], call: ast.Call, function: Function, inside: Function | None = None
) -> Iterator[Reason]:
    """What a call measures on batches; of a function of the project, on those that it takes out itself."""
    for reason in reasons:
        measured = reason.origin in {"batch", "part"} and inside in {None, reason.function}
        yield Reason("measure", function, call) if measured else reason


def _as_part(reasons: Iterable[Reason]) -> Iterator[Reason]:
    """Say of the rank's number that it picks the rank's part."""
    for reason in reasons:
        yield Reason("part", reason.function, reason.node) if reason.origin == "rank" else reason
