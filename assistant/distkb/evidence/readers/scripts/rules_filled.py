"""Collectives for each entry of a dictionary whose entries stand in the order in which the rank's own data came."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.collectives import TOGETHER, is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Where
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.lengths import GROWING
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_decisions import decided_alone

_FILLED = "script.collective-over-own-keys"
_DEPTH = 3
_EMPTY = frozenset({"dict", "OrderedDict"}) | GROWING
_VIEWS = frozenset({"items", "values", "keys", "copy"})
_KEEPS = frozenset({"list", "tuple", "enumerate", "tqdm", "iter", "reversed"})
_OWN = frozenset({"batch", "part", "rank"})


class _Put(msgspec.Struct, frozen=True):
    """A key under which something is put, where that is, and whether the rank's own data decide on it."""

    key: ast.expr
    where: Where
    own: bool


class _Held(msgspec.Struct, frozen=True):
    """A dictionary: its name, the functions that see it under that name, and what is assigned to it."""

    name: str
    scopes: list[Function]
    made: list[ast.expr]


def over_own_keys(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives in a loop over a dictionary that each rank has filled in the order of its own batches."""
    for function in job.project.functions if job.is_parallel else ():
        told: set[int] = set()
        for node in walk(function.node):
            for over, targets, body in _rounds(node):
                container = _dictionary(over)
                call = None if container is None else _spoken(body, targets, function, job)
                if container is None or call is None or id(call) in told:
                    continue
                put = next((p for held in _held(container, function, job, 0) if (p := _own_put(held, job))), None)
                if put is not None and not (_is_open(put) and _differs_in_length(over, function, job)):
                    told.add(id(call))
                    values = {"call": shown(call.func), "over": shown(over), "key": shown(put.key)}
                    yield hit(_FILLED, function, call, **values)


def _is_open(put: _Put) -> bool:
    return not isinstance(put.key, ast.Constant)


def _differs_in_length(over: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether it is told of the loop that the ranks go round another number of times, which is worse than the order.

    Not where only their parts of an evaluation differ: most of these hold every key, in another order.
    """
    told = (one for one in decided_alone(job) if one.id != "script.evaluated-by-own-part")
    return any(one.script is function.script and one.line == over.lineno for one in told)


def _rounds(node: ast.AST) -> Iterator[tuple[ast.expr, set[str], list[ast.AST]]]:
    """Yield what a loop goes through, the names that it gives the elements, and what it repeats."""
    if isinstance(node, ast.For):
        yield node.iter, words(node.target), list(node.body)
    elif isinstance(node, COMPREHENSIONS):
        body = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for one in node.generators:
            yield one.iter, words(one.target), list(body)


def _dictionary(node: ast.expr) -> ast.Name | ast.Attribute | None:
    """Return the dictionary that a loop goes through in its own order; None behind `sorted` and the like."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        return _dictionary(node.func.value)
    if isinstance(node, ast.Call) and last(node.func) in _KEEPS and node.args:
        return _dictionary(node.args[0])
    return None


def _spoken(body: list[ast.AST], targets: set[str], function: Function, job: ScriptContext) -> ast.Call | None:
    """Return the first call for each element in which the ranks exchange something."""
    calls = [node for part in body for node in nodes(part) if isinstance(node, ast.Call)]
    return next(
        (call for call in calls if _speaks(call, function, job) or _element(call, targets, function, job)), None
    )


def _speaks(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a call is a collective other than a barrier, of whichever group, or runs one."""
    if is_operation(call, function):
        return last(call.func) != "barrier"
    if any(n.category in TOGETHER and n.name != "dist.barrier" for n in job.effects.of_call(call, function)):
        return True
    target = job.project.target(call, function) if depth < _DEPTH else None
    sites = () if target is None or target is function else job.project.walk(target).sites
    return any(_speaks(site.node, target or function, job, depth + 1) for site in sites)


def _element(call: ast.Call, targets: set[str], function: Function, job: ScriptContext) -> bool:
    """Whether a method of an element is called that makes a collective in every class of the project that has it."""
    named = call.func
    if not isinstance(named, ast.Attribute) or not (words(named.value) & targets):
        return False
    others = (one for one in job.project.functions if one.owner is not None and one is not function)
    methods = [one for one in others if one.name.endswith(f".{named.attr}")]
    return bool(methods) and all(
        any(_speaks(site.node, one, job, 1) for site in job.project.walk(one).sites) for one in methods
    )


def _held(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext, depth: int) -> Iterator[_Held]:
    """Yield the dictionaries that a name stands for: its own, its class's, a caller's, or what a function returns."""
    if isinstance(node, ast.Attribute):
        owner = job.project.holder(node, function)
        if owner is not None:
            values = job.project.attribute_values(owner).get(node.attr, [])
            yield _Held(f"self.{node.attr}", list(owner.methods.values()), values)
        return
    made = job.project.walk(function).assigned(node.id, before=node.lineno)
    if not made and node.id in function.parameters and depth < _DEPTH:
        for value, caller in job.project.given(node.id, function):
            if isinstance(value, (ast.Name, ast.Attribute)):
                yield from _held(value, caller, job, depth + 1)
        return
    last_made = made[-1].value if made and made[-1].index is None else None
    called = last_made if isinstance(last_made, ast.Call) and depth < _DEPTH else None
    target = None if called is None else job.project.target(called, function)
    if target is None:
        yield _Held(node.id, [function], [one.value for one in made])
        return
    for returned, _ in job.project.walk(target).returns:
        if isinstance(returned, (ast.Name, ast.Attribute)):
            yield from _held(returned, target, job, depth + 1)


def _own_put(held: _Held, job: ScriptContext) -> _Put | None:
    """Return an entry that comes when the rank's own data bring it; None where all are put in before."""
    if not held.made or not all(map(_is_empty, held.made)):
        return None
    puts = list(_puts(held, job))
    if any(put.where.loops and not put.own and _is_open(put) for put in puts):
        return None
    constants = {str(put.key.value) for put in puts if isinstance(put.key, ast.Constant)}
    several = len(constants) > 1 or any(map(_is_open, puts))
    return next((put for put in puts if put.own), None) if several else None


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and last(node.func) in _EMPTY:
        return last(node.func) == "defaultdict" or not (node.args or node.keywords)
    return isinstance(node, ast.Dict) and not node.keys


def _puts(held: _Held, job: ScriptContext) -> Iterator[_Put]:
    grows = any(isinstance(value, ast.Call) and last(value.func) in GROWING for value in held.made)
    for scope in held.scopes:
        found = job.project.walk(scope)
        over = set(_gone_through(held.name, scope))
        for key in found.keys.get(held.name, []):
            if (key.put or grows) and not (words(key.value) & over):
                yield from _resolved(key.value, key.where, scope, held.name, job, 0)
        for site in found.sites:
            named = site.node.func
            if isinstance(named, ast.Attribute) and named.attr == "setdefault" and dotted(named.value) == held.name:
                for given in site.node.args[:1]:
                    yield from _resolved(given, site.where, scope, held.name, job, 0)


def _gone_through(name: str, scope: Function) -> Iterator[str]:
    """Yield the names that loops over a dictionary give what is in it already."""
    for node in walk(scope.node):
        for over, targets, _ in _rounds(node):
            container = _dictionary(over)
            if container is not None and dotted(container) == name:
                yield from targets


def _resolved(
    key: ast.expr, where: Where, scope: Function, name: str, job: ScriptContext, depth: int
) -> Iterator[_Put]:
    """Yield the key as the callers give it, each with the tests around it and around the calls that lead to it."""
    tested = any(_of_own_data(test, scope, job) for test in where.decided if not _is_kept(test, name))
    callers = job.project.callers(scope) if depth < _DEPTH else []
    asked = isinstance(key, ast.Name) and key.id in scope.parameters
    if not callers or not (asked or isinstance(key, ast.Constant)):
        yield _Put(key, where, tested or _of_own_data(key, scope, job))
        return
    for caller, site in callers:
        given = (
            [key]
            if not isinstance(key, ast.Name)
            else [value for value, _ in job.project.given(key.id, scope, site.node)]
        )
        for value in given:
            for put in _resolved(value, site.where, caller, name, job, depth + 1):
                yield msgspec.structs.replace(put, own=True) if tested else put


def _is_kept(test: ast.expr, name: str) -> bool:
    """Whether a test asks what is there, and not what the data say: of the dictionary itself, for None, for a field."""
    for part in nodes(test):
        if isinstance(part, ast.Compare):
            here = isinstance(part.ops[0], (ast.In, ast.NotIn)) and (
                dotted(part.comparators[0]) == name or isinstance(part.left, ast.Constant)
            )
            if here or isinstance(part.ops[0], (ast.Is, ast.IsNot)):
                return True
    return False


def _of_own_data(node: ast.expr, scope: Function, job: ScriptContext) -> bool:
    """Whether a value is what the rank's own batches hold; the fields of a batch are alike on all ranks."""
    if isinstance(node, ast.Name):
        made = job.project.walk(scope).assigned(node.id, before=node.lineno + 1)
        views = (one.value.func for one in made if isinstance(one.value, ast.Call))
        if any(isinstance(func, ast.Attribute) and func.attr in {"items", "keys"} for func in views):
            return False
    return job.origins.depends([node], scope, *_OWN)


RULES = (ScriptRule(ids=(_FILLED,), check=over_own_keys),)
