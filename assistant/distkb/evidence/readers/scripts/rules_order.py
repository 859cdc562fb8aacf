"""What every process orders or salts in its own way: collectives over a set or in a thread, and hashes of strings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, keyword, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Function

_SET, _THREAD = "script.collective-over-set", "script.collective-in-thread"
_HASH = "script.salted-hash"
_KEEPS = frozenset({"list", "tuple", "iter", "enumerate", "reversed", "dict", "zip"})
"""Calls that give the elements in the order in which they come."""
_SETS = frozenset({"set", "frozenset"})
_VIEWS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy", "keys", "items", "values"})
"""Methods of a set, or of a dictionary, whose result has its order."""
_NUMBERS = frozenset({"range", "tolist", "int", "float", "len", "arange", "randint", "sample"})
_WRITES = frozenset({"str", "hex", "format"})
_DEPTH = 6


def over_set(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives that are called once for each element of a set, which each process orders in its own way."""
    for function in job.project.functions:
        for source, body in _loops(function.node):
            if not _is_set(source, function, job):
                continue
            for call in (node for part in body for node in nodes(part) if isinstance(node, ast.Call)):
                need = next((n for n in job.effects.of_call(call, function) if n.category == "collective"), None)
                if need is not None and need.name != "dist.barrier":
                    yield hit(_SET, function, call, call=shown(call.func), over=shown(source), needs=need.name)
                    break


def salted_hash(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `hash()` where it divides something or names a file: of a string it differs from process to process."""
    for function in job.project.functions:
        if not isinstance(function.node, ast.Module) and function.name.endswith("__hash__"):
            continue
        looked: set[int] = set()
        salted: list[ast.Call] = []
        for node in walk(function.node):
            inside = _divided_or_written(node)
            if inside is not None and id(node) not in looked:
                parts = nodes(inside)
                looked.update(map(id, parts))
                salted += [p for p in parts if isinstance(p, ast.Call) and _is_salted(p, function, job)]
        if salted:
            call = min(salted, key=lambda one: (one.lineno, one.col_offset))
            yield hit(_HASH, function, call, call=shown(call))


def _divided_or_written(node: ast.AST) -> ast.AST | None:
    """Return the part of a remainder, or of a text that is put together, from which its value comes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return node.left
    writes = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and last(node.func) in _WRITES)
    return node if writes else None


def _is_salted(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id != "hash" or len(call.args) != 1:
        return False
    given = call.args[0]
    number = isinstance(given, ast.Constant) and isinstance(given.value, (int, float))
    return (
        not number
        and last(getattr(given, "func", given)) not in _NUMBERS
        and job.project.target(call, function) is None
    )


def _loops(root: ast.AST) -> Iterator[tuple[ast.expr, list[ast.AST]]]:
    """Yield what each loop of a function's own body goes through, with what it repeats."""
    for node in walk(root):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield node.iter, list(node.body)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            yield node.generators[0].iter, [node.elt]
        elif isinstance(node, ast.DictComp):
            yield node.generators[0].iter, [node.key, node.value]


def _is_set(node: ast.expr | None, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether an expression's elements come in the order of a set of anything but numbers."""
    if isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(node, ast.Call) and last(node.func) in _SETS):
        return not _of_numbers(node)
    return depth < _DEPTH and any(_is_set(part, function, job, depth + 1) for part in _made_of(node, function, job))


def _made_of(node: ast.expr | None, function: Function, job: ScriptContext) -> list[ast.expr]:
    """Return the expressions whose order is an expression's own."""
    found: list[ast.expr | None] = []
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = [job.project.single(node, function)]
    elif isinstance(node, ast.DictComp):
        found = [node.generators[0].iter]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        found = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and last(node.func) in _KEEPS:
        found = list(node.args)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        found = [node.func.value]
    return [part for part in found if part is not None]


def _of_numbers(node: ast.AST) -> bool:
    """Whether a set plainly holds numbers, whose order is the same in every process."""
    return any(
        (isinstance(part, ast.Call) and last(part.func) in _NUMBERS)
        or (isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) and not isinstance(node, ast.Call))
        for part in nodes(node)
    )


def in_thread(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives on the default group in a function that a thread beside the training runs."""
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            if canonical(site.node.func, function.script) not in {"threading.Thread", "threading.Timer"}:
                continue
            named = keyword(site.node, "target") or next(iter(site.node.args[1:2]), None)
            if named is None:
                continue
            target = job.project.referred(named, function)
            found = None if target is None else _collective_in(target, job)
            if target is not None and found is not None:
                call, needs = found
                yield hit(_THREAD, target, call, call=shown(call.func), needs=needs, thread=shown(named))


def _collective_in(target: Function, job: ScriptContext) -> tuple[ast.Call, str] | None:
    for site in job.project.walk(target).sites:
        for need in job.effects.of_call(site.node, target):
            if need.category in {"collective", "ddp-forward", "state-dict"}:
                return site.node, need.name
    return None


RULES = (
    ScriptRule(ids=(_SET,), check=over_set),
    ScriptRule(ids=(_THREAD,), check=in_thread),
    ScriptRule(ids=(_HASH,), check=salted_hash),
)
