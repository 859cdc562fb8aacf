"""Types of numbers that expressions stand for: named, looked up, written as text in settings, or set as the default."""

from __future__ import annotations

import ast
import re

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.made import Meaning, meanings
from distkb.evidence.readers.scripts.names import canonical, constant, last
from distkb.evidence.readers.scripts.nodes import nodes

LOW = frozenset({"bfloat16", "float16"})
_SHORT = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "float": "float32", "fp32": "float32",
          "double": "float64", "fp64": "float64"}  # fmt: skip
_FLOATS = frozenset({"bfloat16", "float16", "float32", "float64"})
_SETS = "torch.set_default_dtype"
_SETTER = re.compile(r"^(?:set_|local_|use_)?(?:default_)?(?:torch_)?dtype$")
"""Context managers of libraries that set the default type: `set_default_dtype` of torchtune, `local_torch_dtype`."""
_DEPTH = 4


def types_of(node: ast.expr | None, function: Function, job: ScriptContext, depth: int = 0) -> set[str]:
    """Return the names of all types, such as `bfloat16`, that an expression may stand for; empty where one is open."""
    each = [_of(value, scope, job, depth) for value, scope in _meanings(node, function, job, depth)]
    return set().union(*each) if all(each) else set()


def some_types_of(node: ast.expr | None, function: Function, job: ScriptContext) -> set[str]:
    """Return the names of the types that are plain among all that an expression may stand for."""
    return set().union(*(_of(value, scope, job, 0) for value, scope in _meanings(node, function, job, 0)))


def _meanings(node: ast.expr | None, function: Function, job: ScriptContext, depth: int) -> list[Meaning]:
    return [] if node is None or depth > _DEPTH else list(meanings(node, function, job.project))


def _of(value: ast.expr, function: Function, job: ScriptContext, depth: int) -> set[str]:
    name = canonical(value, function.script)
    if name.startswith("torch."):
        return {_full(name)} & _FLOATS
    taken = _taken(value)
    if taken is not None:
        table, key = taken
        if isinstance(table, (ast.Name, ast.Attribute)) and canonical(table, function.script) == "torch":
            return {_full(text) for text in texts_of(key, function, job, depth + 1)} & _FLOATS
        entries = _entries(table, key, function, job, depth)
        if entries:
            each = [types_of(entry, scope, job, depth + 1) for entry, scope in entries]
            return set().union(*each) if all(each) else set()
    texts = {_full(text) for text in texts_of(value, function, job, depth + 1)}
    return texts if texts <= _FLOATS else set()


def texts_of(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> set[str]:
    """Return all texts that an expression may stand for, in the code or in a settings file; empty where one is open."""
    found: set[str] = set()
    for value, scope in _meanings(node, function, job, depth):
        taken = _taken(value)
        written = job.project.settings.agreed(value if taken is None else ast.Subscript(value=taken[0], slice=taken[1]))
        entries = _entries(*taken, scope, job, depth) if taken is not None else []
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            own = {value.value}
        elif isinstance(written, str) and not entries:
            own = {written}
        else:
            own = set().union(*(texts_of(entry, inside, job, depth + 1) for entry, inside in entries))
        if not own:
            return set()
        found |= own
    return found


def _taken(value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return from what, and by which key, an expression takes something: `table[key]`, `table.get(key)`, `getattr`."""
    match value:
        case ast.Subscript(value=table, slice=key):
            return table, key
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
            return table, key
        case ast.Call(func=ast.Name(id="getattr"), args=[table, key, *_]):
            return table, key
    return None


def _entries(table: ast.expr, key: ast.expr, function: Function, job: ScriptContext, depth: int) -> list[Meaning]:
    """Return what dictionaries that are written out in the code hold under a key."""
    found: list[Meaning] = []
    keys: set[str] | None = None
    for held, scope in _tables(table, function, job, depth):
        if keys is None:
            keys = texts_of(key, function, job, depth + 1)
        pairs = zip(held.keys, held.values, strict=True)
        found += [(value, scope) for written, value in pairs if constant(written) in keys]
    return found


def _tables(table: ast.expr, function: Function, job: ScriptContext, depth: int) -> list[tuple[ast.Dict, Function]]:
    found: list[tuple[ast.Dict, Function]] = []
    for value, scope in _meanings(table, function, job, depth):
        inner = _taken(value)
        if isinstance(value, ast.Dict):
            found.append((value, scope))
        elif isinstance(value, ast.Call) and last(value.func) == "dict" and not value.args:
            named = [word for word in value.keywords if word.arg]
            keys: list[ast.expr | None] = [ast.Constant(word.arg) for word in named]
            found.append((ast.Dict(keys=keys, values=[word.value for word in named]), scope))
        elif inner is not None:
            for entry, inside in _entries(*inner, scope, job, depth + 1):
                found += _tables(entry, inside, job, depth + 1)
    return found


def _full(text: str) -> str:
    name = text.removeprefix("torch.")
    return _SHORT.get(name, name)


def default_at(call: ast.Call, function: Function, job: ScriptContext) -> tuple[ast.expr, set[str]] | None:
    """Return what sets the default type under which a call runs, and the types; None where nothing in view does."""
    walked = job.project.walk(function)
    site = next((one for one in walked.sites if one.node is call), None)
    if site is None:
        return None
    for block in reversed(site.where.blocks):
        types = _entered(block, function, job)
        if types:
            return block, types
    sets = [
        one
        for one in walked.sites
        if canonical(one.node.func, function.script) == _SETS
        and one.node.lineno < call.lineno
        and one.where.certain
        and one.where.loops == ()
    ]
    given = _given(sets[-1].node) if sets else None
    return (sets[-1].node, types_of(given, function, job)) if sets and given is not None else None


def _given(call: ast.Call) -> ast.expr | None:
    return keyword(call, "d") or keyword(call, "dtype") or next(iter(call.args), None)


def _entered(block: ast.expr, function: Function, job: ScriptContext) -> set[str]:
    """Return the type that a context manager makes the default for what stands in it."""
    if not isinstance(block, ast.Call):
        return set()
    helper = job.project.target(block, function)
    owner = job.project.holds_class(block, function)
    enters = job.project.method(owner, "__enter__") if owner is not None else helper
    if enters is None:
        return types_of(_given(block), function, job) if _SETTER.match(last(block.func)) else set()
    stop = next((node.lineno for node in nodes(enters.node) if isinstance(node, ast.Yield)), None)
    sets = [
        one.node
        for one in job.project.walk(enters).sites
        if canonical(one.node.func, enters.script) == _SETS and (stop is None or one.node.lineno < stop)
    ]
    given = _given(sets[-1]) if sets else None
    if isinstance(given, ast.Name) and enters is helper and given.id in enters.parameters:
        of_call = list(job.project.given(given.id, enters, block))
        return types_of(*of_call[0], job) if of_call else types_of(enters.default(given.id), enters, job)
    return types_of(given, enters, job)
