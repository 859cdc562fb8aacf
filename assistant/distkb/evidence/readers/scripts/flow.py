"""Walks through a function and says of every call which ranks make it, and under which tests."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import msgspec

from distkb.evidence.readers.scripts.names import dotted, last
from distkb.evidence.readers.scripts.nodes import children
from distkb.evidence.readers.scripts.ranks import GATES, Lookup, Side, assumed, sides

MAX_ASSIGNED = 20
"""Assignments to one name that are looked back on."""
NO_LINE = 1 << 30
"""Stands for a line below all others."""
LOOPED = -1
"""Stands for the position of what a loop takes out of its iterable."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PUTS = frozenset({"append", "extend", "appendleft"})
"""Methods that put something into a list."""


class Guard(msgspec.Struct, frozen=True, eq=False):
    """Why only some ranks get to a statement."""

    node: ast.expr | ast.stmt
    """The test, or the function whose decorator lets one rank in."""
    left: ast.stmt | None = None
    """The `return`, `continue` or `break` with which the other ranks leave before; None for an ordinary branch."""

    @property
    def line(self) -> int:
        """Line of the test."""
        return self.node.lineno


class Where(msgspec.Struct, frozen=True):
    """On what the execution of a statement depends."""

    side: Side = "both"
    guard: Guard | None = None
    certain: bool = True
    """False below a test whose outcome is not known, in handlers, and behind an early exit of that kind."""
    tests: tuple[ast.expr, ...] = ()
    """Tests of the branches around it, outermost first."""
    passed: tuple[ast.expr, ...] = ()
    """Tests before it that would have left the function or the loop's round."""
    loops: tuple[ast.stmt, ...] = ()
    blocks: tuple[ast.expr, ...] = ()
    """Context managers of the `with` statements around it."""

    @property
    def decided(self) -> tuple[ast.expr, ...]:
        """Return every test that decides whether it is reached."""
        return (*self.tests, *self.passed)

    @property
    def entered(self) -> set[str]:
        """Names of the context managers of the `with` statements around it."""
        return {last(getattr(block, "func", block)) for block in self.blocks}

    @property
    def expects_error(self) -> bool:
        """Whether it stands in a test that wants it to fail: `with self.assertRaisesRegex(…)`, `with raises(…)`."""
        return any(name.startswith(("assertRaises", "raises")) for name in self.entered)


class Site(msgspec.Struct, frozen=True, eq=False):
    """One call, or one statement with a value, in a function."""

    node: ast.Call
    where: Where
    statement: ast.stmt


class Assignment(msgspec.Struct, frozen=True):
    """One assignment to a name or to an attribute of `self`."""

    target: str
    value: ast.expr
    index: int | None
    """Position in the tuple that the value gives; None where it is assigned as a whole, `LOOPED` in a loop."""
    where: Where
    line: int


class Key(msgspec.Struct, frozen=True):
    """One `container[key]`, and whether something is put there."""

    container: ast.expr
    value: ast.expr
    where: Where
    put: bool


class _Exit(msgspec.Struct, frozen=True):
    """How the ranks that leave early change what comes after."""

    kind: Literal["return", "loop"]
    side: Side
    guard: Guard


class Walk:
    """The calls and assignments of one function's own statements."""

    def __init__(self, body: list[ast.stmt], start: Where, lookup: Lookup | None) -> None:
        self.sites: list[Site] = []
        self.assignments: list[Assignment] = []
        self.changes: dict[str, list[Assignment]] = {}
        """`x += …`, by name: what is added to it, which stays what it was besides."""
        self.items: dict[tuple[str, str], list[Assignment]] = {}
        self.keys: dict[str, list[Key]] = {}
        """What is asked for, or put, under a key, by the name of the container."""
        self.returns: list[tuple[ast.expr, Where]] = []
        self._lookup = lookup
        self._block(body, start)
        self._targets: dict[str, list[Assignment]] = {}
        for found in sorted(self.assignments, key=lambda assignment: assignment.line):
            self._targets.setdefault(found.target, []).append(found)

    @cached_property
    def puts(self) -> dict[str, list[Site]]:
        """Return the calls that put something into a container, by its name."""
        found: dict[str, list[Site]] = {}
        for site in self.sites:
            func = site.node.func
            if (
                isinstance(func, ast.Attribute)
                and func.attr in _PUTS
                and site.node.args
                and (name := dotted(func.value))
            ):
                found.setdefault(name, []).append(site)
        return found

    @cached_property
    def iterated(self) -> frozenset[int]:
        """Return what the loops go through in which something is called, by identity."""
        loops = (loop for site in self.sites for loop in site.where.loops)
        return frozenset(id(loop.iter) for loop in loops if isinstance(loop, (ast.For, ast.AsyncFor)))

    def assigned(self, target: str, before: int = NO_LINE) -> list[Assignment]:
        """Return the last few assignments to a name above a line, in the order of their lines."""
        found = self._targets.get(target, [])
        end = bisect_left(found, before, key=lambda assignment: assignment.line)
        return found[max(0, end - MAX_ASSIGNED) : end]

    def last_value(self, target: str, before: int) -> ast.expr | None:
        """Return what a name was given last above a line, where that is no part of something."""
        made = self.assigned(target, before)
        return made[-1].value if made and made[-1].index is None else None

    def calls(self, *names: str) -> bool:
        """Whether anything is called by one of these names."""
        return any(last(site.node.func) in names for site in self.sites)

    def _block(self, body: list[ast.stmt], where: Where) -> list[_Exit]:
        exits: list[_Exit] = []
        for statement in body:
            left, doubt = self._statement(statement, where)
            for exit_ in left:
                where = _restricted(where, exit_.side, exit_.guard) or where
            exits += left
            if doubt:
                passed = (*where.passed, statement.test) if isinstance(statement, ast.If) else where.passed
                where = msgspec.structs.replace(where, certain=False, passed=passed)
            if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                break
        return exits

    def _statement(self, statement: ast.stmt, where: Where) -> tuple[list[_Exit], bool]:
        """Visit one statement; return how ranks leave in it, and whether what follows is in doubt."""
        if isinstance(statement, ast.If):
            return self._branch(statement, where)
        exits: list[_Exit] = []
        doubt = False
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            exits = self._loop(statement, where)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            exits = self._with(statement, where)
        elif isinstance(statement, ast.Try) or type(statement).__name__ == "TryStar":
            exits = self._try(statement, where)
        elif isinstance(statement, ast.Match):
            self._expression(statement.subject, where, statement)
            for case in statement.cases:
                self._block(case.body, msgspec.structs.replace(where, certain=False))
            doubt = any(_leaves(case.body) is not None for case in statement.cases)
        elif not isinstance(statement, _SCOPES):
            self._simple(statement, where)
        return exits, doubt

    def _with(self, statement: ast.With | ast.AsyncWith, where: Where) -> list[_Exit]:
        for item in statement.items:
            self._expression(item.context_expr, where, statement)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, item.context_expr, where, statement)
        managers = tuple(item.context_expr for item in statement.items)
        return self._block(statement.body, msgspec.structs.replace(where, blocks=(*where.blocks, *managers)))

    def _try(self, statement: ast.stmt, where: Where) -> list[_Exit]:
        """Visit a `try` of either kind; Python 3.10 has no name for that with `except*`."""
        exits = self._block(getattr(statement, "body", []), where)
        for handler in getattr(statement, "handlers", []):
            self._block(handler.body, msgspec.structs.replace(where, certain=False))
        self._block(getattr(statement, "orelse", []), where)
        self._block(getattr(statement, "finalbody", []), where)
        return exits

    def _simple(self, statement: ast.stmt, where: Where) -> None:
        for node in children(statement):
            if isinstance(node, ast.expr):
                self._expression(node, where, statement)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value, where, statement)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value, where, statement)
        elif isinstance(statement, ast.AugAssign) and (name := _target(statement.target)):
            added = Assignment(name, statement.value, None, where, statement.lineno)
            self.changes.setdefault(name, []).append(added)
        elif isinstance(statement, ast.AugAssign) and (item := item_of(statement.target)):
            added = Assignment(item[0], statement.value, None, where, statement.lineno)
            self.items.setdefault(item, []).append(added)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self.returns.append((statement.value, where))

    def _branch(self, statement: ast.If, where: Where) -> tuple[list[_Exit], bool]:
        self._expression(statement.test, where, statement)
        settled = assumed(statement.test)
        if settled is not None:
            taken = statement.body if settled else statement.orelse
            return self._block(taken, where), False
        then, otherwise = sides(statement.test, self._lookup)
        guard = Guard(statement.test)
        unknown = then == "both" and otherwise == "both" and not _picks(statement.test, where)
        exits: list[_Exit] = []
        doubt = False
        for body, side, remaining in ((statement.body, then, otherwise), (statement.orelse, otherwise, then)):
            if not body:
                continue
            inner = _restricted(where, side, guard)
            if inner is None:
                continue
            certain = inner.certain and not unknown
            inner = msgspec.structs.replace(inner, certain=certain, tests=(*inner.tests, statement.test))
            found = self._block(body, inner)
            leaves = _leaves(body)
            if leaves is None:
                exits += [] if unknown else [e for e in found if where.side == "both" and side == "both"]
            elif isinstance(leaves, ast.Raise):
                continue
            elif remaining != "both" and where.side == "both":
                kind: Literal["return", "loop"] = "return" if isinstance(leaves, ast.Return) else "loop"
                exits.append(_Exit(kind, remaining, Guard(statement.test, left=leaves)))
            else:
                doubt = True
        return exits, doubt

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While, where: Where) -> list[_Exit]:
        head = statement.test if isinstance(statement, ast.While) else statement.iter
        self._expression(head, where, statement)
        if not isinstance(statement, ast.While):
            self._assign(statement.target, head, where, statement)
        exits = self._block(statement.body, msgspec.structs.replace(where, loops=(*where.loops, statement)))
        self._block(statement.orelse, where)
        return [exit_ for exit_ in exits if exit_.kind == "return"]

    def _assign(self, target: ast.expr, value: ast.expr, where: Where, statement: ast.stmt) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                name = _target(element)
                if isinstance(element, (ast.Tuple, ast.List)) and isinstance(statement, (ast.For, ast.AsyncFor)):
                    inner = filter(None, (_target(node) for node in ast.walk(element) if isinstance(node, ast.expr)))
                    self.assignments += [Assignment(one, value, index, where, statement.lineno) for one in inner]
                if not name:
                    continue
                is_pair = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                part = value.elts[index] if isinstance(value, (ast.Tuple, ast.List)) and is_pair else value
                self.assignments.append(Assignment(name, part, None if is_pair else index, where, statement.lineno))
            return
        item = item_of(target)
        if item is not None:
            self.items.setdefault(item, []).append(Assignment(item[0], value, None, where, statement.lineno))
        name = _target(target)
        if name:
            position = LOOPED if isinstance(statement, (ast.For, ast.AsyncFor)) else None
            self.assignments.append(Assignment(name, value, position, where, statement.lineno))

    def _expression(self, node: ast.expr, where: Where, statement: ast.stmt) -> None:
        found: list[Site] = []
        stack: list[tuple[ast.AST, Where]] = [(node, where)]
        while stack:
            here, there = stack.pop()
            if isinstance(here, ast.Lambda):
                continue
            if isinstance(here, ast.Call):
                found.append(Site(here, there, statement))
            if isinstance(here, ast.Subscript) and (name := _target(here.value)):
                key = Key(here.value, here.slice, there, isinstance(here.ctx, ast.Store))
                self.keys.setdefault(name, []).append(key)
            if isinstance(here, ast.IfExp):
                stack += self._choice(here, there)
            elif isinstance(here, ast.BoolOp):
                stack += self._short_circuit(here, there)
            else:
                stack += [(child, there) for child in children(here)]
        self.sites += sorted(found, key=lambda site: (site.node.end_lineno or 0, site.node.end_col_offset or 0))

    def _choice(self, node: ast.IfExp, where: Where) -> Iterator[tuple[ast.AST, Where]]:
        yield node.test, where
        settled = assumed(node.test)
        then, otherwise = sides(node.test, self._lookup)
        for value, side, taken in ((node.body, then, True), (node.orelse, otherwise, False)):
            inner = _restricted(where, side, Guard(node.test))
            if inner is not None and settled in (None, taken):
                known = settled is not None or then != "both" or otherwise != "both"
                yield (
                    value,
                    msgspec.structs.replace(inner, certain=inner.certain and known, tests=(*inner.tests, node.test)),
                )

    def _short_circuit(self, node: ast.BoolOp, where: Where) -> Iterator[tuple[ast.AST, Where]]:
        here: Where | None = where
        for value in node.values:
            if here is None:
                return
            yield value, here
            then, otherwise = sides(value, self._lookup)
            side = then if isinstance(node.op, ast.And) else otherwise
            if side == "both" and assumed(value) is None:
                here = msgspec.structs.replace(here, certain=False)
            here = _restricted(here, side, Guard(value))


_PARTS = frozenset(
    {"parameters", "named_parameters", "modules", "named_modules", "children", "named_children", "named_buffers"}
)


def _picks(test: ast.expr, where: Where) -> bool:
    """Whether a test in a loop over a model's parts looks at the part alone: every rank has the same, and some pass."""
    loop = where.loops[-1] if where.loops else None
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or last(loop.iter.func) not in _PARTS:
        return False
    taken = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return {node.id for node in ast.walk(test) if isinstance(node, ast.Name)} - {"isinstance", "any", "nn"} <= taken


def _restricted(where: Where, side: Side, guard: Guard) -> Where | None:
    """Return the position narrowed to some ranks; None where no rank is left."""
    if side in ("both", where.side):
        return where
    return msgspec.structs.replace(where, side=side, guard=guard) if where.side == "both" else None


def _target(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
        return f"self.{node.attr}"
    return ""


def item_of(node: ast.expr) -> tuple[str, str] | None:
    """Return the name and the written-out key of `name["key"]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    name = _target(node.value)
    return (name, node.slice.value) if name and isinstance(node.slice.value, str) else None


_ENDINGS = frozenset({"exit", "_exit", "abort", "quit"})


def _leaves(body: list[ast.stmt]) -> ast.stmt | None:
    """Return the statement with which a block always ends early; a call of `sys.exit` counts as a `raise`."""
    final = body[-1] if body else None
    if isinstance(final, (ast.Return, ast.Continue, ast.Break, ast.Raise)):
        return final
    if isinstance(final, ast.Expr) and isinstance(final.value, ast.Call) and last(final.value.func) in _ENDINGS:
        return ast.Raise(exc=None, cause=None, lineno=final.lineno, col_offset=final.col_offset)
    return None


def gate(node: ast.AST) -> ast.expr | None:
    """Return the decorator that lets only one rank into a function, or None."""
    for decorator in getattr(node, "decorator_list", ()):
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last(name) in GATES:
            return name if isinstance(name, ast.expr) else None
    return None
