"""Samplers that make batches of variable size from the rank's own part of the data: the ranks get unlike many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.collectives import is_operation
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, names_in, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import is_rank

_UNEVEN = "script.batches-of-own-part"
_EVENED = ("Join", "join", "uneven_inputs", "join_uneven_inputs", "limit_train_batches", "cycle", "infinite")
"""Names that show that the ranks may well have unlike many batches, or go round them for ever."""
_CUTS = frozenset({"islice", "num_batches", "steps_per_epoch", "total_batches", "max_batches"})
_ROUNDS = 4


def uneven(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the tests with which a sampler ends its batches by size, where what it goes through is the rank's own."""
    if not job.is_parallel or job.mentions(*_EVENED):
        return
    for owner in _samplers(job):
        parts, own = _own_parts(owner, job)
        if not parts or _is_cut(owner):
            continue
        for method in owner.methods.values():
            test = next(_ends_by_size(method, own[method.name]), None)
            if test is not None:
                function, part = parts[0]
                values = {"part": shown(part), "part_line": str(part.lineno)}
                found = hit(_UNEVEN, method, test, test=shown(test), **values)
                yield msgspec.structs.replace(found, more=((function.script, part.lineno),))
                break


def _samplers(job: ScriptContext) -> Iterator[Class]:
    seen: set[int] = set()
    for function in job.project.functions:
        owner = function.owner
        if owner is not None and id(owner) not in seen:
            seen.add(id(owner))
            if any(last(base).endswith("Sampler") for base in owner.node.bases):
                yield owner


def _own_parts(owner: Class, job: ScriptContext) -> tuple[list[tuple[Function, ast.expr]], dict[str, set[str]]]:
    """Return where a class takes the rank's part of its samples, and the names of each method that hold of it."""
    parts: list[tuple[Function, ast.expr]] = []
    own: dict[str, set[str]] = {method.name: set() for method in owner.methods.values()}
    shared: set[str] = set()
    gives: set[str] = set()
    for _ in range(_ROUNDS):
        for method in owner.methods.values():
            names = own[method.name] | shared
            walk = job.project.walk(method)
            for made in walk.assignments:
                part = next((node for node in nodes(made.value) if _is_part(node, method, job)), None)
                if part is not None and all(part is not known for _, known in parts):
                    parts.append((method, part))  # type: ignore[arg-type]
                if part is not None or _mentions(made.value, names) or _calls(made.value, gives):
                    (shared if made.target.startswith("self.") else own[method.name]).add(made.target)
                    names |= {made.target}
            for value, _ in walk.returns:
                if any(_is_part(node, method, job) for node in nodes(value)) or _mentions(value, names):
                    gives.add(method.name.rpartition(".")[2])
            for site in walk.sites:
                target = job.project.target(site.node, method)
                if target is not None and target.owner is owner:
                    given = zip(target.parameters[1:], site.node.args, strict=False)
                    own[target.name] |= {name for name, value in given if _mentions(value, names)}
    return parts, {name: names | shared for name, names in own.items()}


def _is_part(node: ast.AST, method: Function, job: ScriptContext) -> bool:
    """Whether an expression takes what is the rank's from a sequence: `order[rank::world]`, `range(rank, n, world)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is not None:
        first = node.slice.lower
    elif isinstance(node, ast.Call) and last(node.func) in {"range", "islice"} and len(node.args) > 2:
        first = node.args[-3]
    else:
        return False
    return first is not None and is_rank(first, lambda name: job.project.single(name, method))


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(dotted(part) in names for part in nodes(node) if isinstance(part, (ast.Name, ast.Attribute)))


def _calls(node: ast.AST, methods: set[str]) -> bool:
    return any(dotted(part).removeprefix("self.") in methods for part in nodes(node) if isinstance(part, ast.Attribute))


def _is_cut(owner: Class) -> bool:
    """Whether a class speaks to the other ranks, counts batches, or cuts or fills up the list of them."""
    if words(owner.node) & _CUTS:
        return True
    for method in owner.methods.values():
        lists = {dotted(call.func.value) for call, _ in _appended(method) if isinstance(call.func, ast.Attribute)}
        for node in nodes(method.node):
            if isinstance(node, ast.Call) and is_operation(node, method):
                return True
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and dotted(node.value) in lists:
                return True
            if isinstance(node, (ast.While, ast.If)) and any(_counts(part, lists) for part in nodes(node.test)):
                return True
    return False


def _counts(node: ast.AST, lists: set[str]) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == "len" and any(dotted(one) in lists for one in node.args)


def _appended(method: Function) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls that put a batch on a list of batches: a name that a method makes anew as an empty list."""
    begun = {name for node in nodes(method.node) if isinstance(node, ast.Assign) for name in _emptied(node)}
    for node in nodes(method.node):
        if isinstance(node, ast.Call) and last(node.func) == "append":
            yield from ((node, one.id) for one in node.args[:1] if isinstance(one, ast.Name) and one.id in begun)


def _emptied(node: ast.Assign) -> Iterator[str]:
    """Yield the names to which an assignment gives an empty list."""
    target = node.targets[0]
    pairs = [(target, node.value)]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=False))
    yield from (dotted(one) for one, value in pairs if isinstance(value, ast.List))


def _ends_by_size(method: Function, own: set[str]) -> Iterator[ast.expr]:
    """Yield the tests in loops over the rank's own under which a batch is handed out and a new one is begun."""
    puts = {id(call) for call, _ in _appended(method)}
    for loop in (node for node in nodes(method.node) if isinstance(node, ast.For) and _mentions(node.iter, own)):
        taken = names_in(loop.target)
        sizes = _sizes(loop, taken)
        for node in (part for statement in loop.body for part in nodes(statement)):
            if not isinstance(node, ast.If) or not any(isinstance(part, ast.Compare) for part in nodes(node.test)):
                continue
            done = [part for statement in node.body for part in nodes(statement)]
            hands_out = any(isinstance(part, ast.Yield) or id(part) in puts for part in done)
            begins = any(isinstance(part, ast.Assign) and [*_emptied(part)] for part in done)
            if hands_out and begins and {dotted(part) for part in nodes(node.test)} & sizes:
                yield node.test


def _sizes(loop: ast.For, taken: set[str]) -> set[str]:
    """Return the names that add up, or take the largest of, a size of what a loop goes through."""
    found: set[str] = set()
    for node in (part for statement in loop.body for part in nodes(statement)):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.BinOp, ast.Subscript)):
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AugAssign) and constant(node.value) != 1:
            target = node.target
        else:
            continue
        if taken & words(node.value) or found & words(node.value):
            found.add(dotted(target))
    return found - {""}


RULES = (ScriptRule(ids=(_UNEVEN,), check=uneven),)
