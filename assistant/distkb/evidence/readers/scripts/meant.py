"""What an expression stands for, through names, attributes, arguments, helpers, fields of settings and argparse."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.fields import fields_of
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.makers import SAME
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, keyword, last
from distkb.evidence.readers.scripts.project import Function

Meaning = tuple[ast.expr, Function]
_DEPTH = 7
_MOST = 12
_PARTS = SAME | {"get", "pop", "byte", "clone", "numpy"}
"""Methods that give a part of the object, or the object in another form."""
_TURNS = frozenset({"tuple", "list", "torch.tensor", "torch.as_tensor", "torch.ByteTensor", "torch.from_numpy"})
"""Calls that give back in another form what they get."""
_FIRST = frozenset({"torch.compile", "int", "float", "str", "min", "max"})
"""Calls that give back, or are made of, what they get first."""


def meanings(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> Iterator[Meaning]:
    """Yield the calls, literals and the like that a value may come from, each with the function in which it stands."""
    if depth > _DEPTH:
        return
    if isinstance(node, ast.IfExp):
        for part in (node.body, node.orelse):
            yield from meanings(part, function, job, depth + 1)
    elif isinstance(node, ast.Call):
        yield from _of_call(node, function, job, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
        found = list(_one_step(node, function, job))[:_MOST]
        for value, scope in found:
            yield from meanings(value, scope, job, depth + 1)
        if not found:
            yield node, function
    else:
        yield node, function


def roots(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> Iterator[Meaning]:
    """Yield what a value is a part of, or was turned from: `state` of `tuple(state["rng"])`, and where it is made."""
    inner: list[ast.expr] = []
    if depth > _DEPTH:
        return
    if isinstance(node, (ast.Subscript, ast.Starred)):
        inner = [node.value]
    elif isinstance(node, (ast.Tuple, ast.List)):
        inner = node.elts
    elif isinstance(node, ast.Call) and canonical(node.func, function.script) in _TURNS:
        inner = node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PARTS:
        inner = [node.func.value]
    elif isinstance(node, ast.Name):
        made = job.project.walk(function).assigned(node.id, before=node.lineno)
        inner = [made[-1].value] if made and made[-1].value is not node else []
    if inner:
        for part in inner:
            yield from roots(part, function, job, depth + 1)
        return
    found = list(meanings(node, function, job))
    for value, scope in found:
        if value is node or isinstance(value, (ast.Name, ast.Constant)):
            yield value, scope
        else:
            yield from roots(value, scope, job, depth + 1)


def literals(node: ast.expr, function: Function, job: ScriptContext) -> list[object]:
    """Return what a value is where it is written out somewhere, as far as that is plain."""
    return [value.value for value, _ in meanings(node, function, job) if isinstance(value, ast.Constant)]


def made_by(node: ast.expr, function: Function, job: ScriptContext) -> list[tuple[str, ast.Call, Function]]:
    """Return the calls from which a value may come, each with the full name of what is called."""
    found = ((value, scope) for value, scope in meanings(node, function, job) if isinstance(value, ast.Call))
    return [(canonical(value.func, scope.script), value, scope) for value, scope in found]


def setting(call: ast.Call, name: str, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return what a call is given under a name, be it in a dictionary that is spread over it."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
        for value, _ in meanings(word.value, function, job) if word.arg is None else ():
            if isinstance(value, ast.Call) and last(value.func) == "dict" and keyword(value, name) is not None:
                return keyword(value, name)
            if isinstance(value, ast.Dict):
                pairs = zip(value.keys, value.values, strict=True)
                found = next((v for key, v in pairs if constant(key) == name), None)
                if found is not None:
                    return found
    return None


def _of_call(node: ast.Call, function: Function, job: ScriptContext, depth: int) -> Iterator[Meaning]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
        yield from meanings(node.func.value, function, job, depth + 1)
        return
    if canonical(node.func, function.script) in _FIRST and node.args:
        yield from meanings(node.args[0], function, job, depth + 1)
        return
    target = job.project.target(node, function)
    returned = job.project.walk(target).returns if target is not None and not _makes(target) else []
    for value, _ in returned[:_MOST]:
        yield from meanings(value, target or function, job, depth + 1)
    if not returned:
        yield node, function


def _makes(target: Function) -> bool:
    return target.name.endswith("__init__")


def _one_step(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    """Yield what a name was given last, what callers give for it, or what an attribute holds."""
    if isinstance(node, ast.Attribute):
        yield from _of_attribute(node, function, job)
        return
    scope: Function | None = function
    while scope is not None:
        made = job.project.walk(scope).assigned(node.id, before=node.lineno if scope is function else 1 << 30)
        if made:
            yield from _assigned(made[-1].value, made[-1].index, scope, job)
            return
        if node.id in scope.parameters:
            given = list(job.project.given(node.id, scope))
            default = scope.default(node.id)
            yield from given or ([(default, scope)] if default is not None else [])
            return
        scope = scope.parent
    yield from _imported(node, function, job)


def _assigned(value: ast.expr, index: int | None, scope: Function, job: ScriptContext) -> Iterator[Meaning]:
    """Yield what is at a place of the tuple that a function gives back, or the whole value."""
    if index is None:
        yield value, scope
        return
    target = job.project.target(value, scope) if isinstance(value, ast.Call) else None
    for returned, _ in job.project.walk(target).returns[:_MOST] if target is not None and index >= 0 else ():
        if isinstance(returned, ast.Tuple) and index < len(returned.elts):
            yield returned.elts[index], target or scope


def _imported(node: ast.Name, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    """Yield what a module of the project gives to a name that was imported from it."""
    module, dot, name = canonical(node, function.script).rpartition(".")
    script = job.project.module_named(module, function.script) if dot else None
    if script is not None:
        top = job.project.modules[id(script)]
        yield from ((one.value, top) for one in job.project.walk(top).assigned(name, before=1 << 30)[-1:])


def _of_attribute(node: ast.Attribute, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    found = job.project.held_under(node, function)
    yield from found
    if found:
        return
    own = isinstance(node.value, ast.Name) and node.value.id == "self"
    owner = job.project.owner_of(function) if own else job.project.holds_class(node.value, function)
    fields = fields_of(node, owner)
    default = fields.defaults.get(node.attr) if fields is not None else None
    if default is not None and owner is not None:
        yield default, job.project.modules[id(owner.script)]
        return
    for script in job.project.scripts:
        for part in script.nodes:
            if isinstance(part, ast.Call) and last(part.func) == "add_argument" and _names(part, node.attr):
                value = keyword(part, "default")
                if value is not None:
                    yield value, job.project.modules[id(script)]


def _names(call: ast.Call, name: str) -> bool:
    """Whether an argument of argparse is kept under a name."""
    flags = [str(constant(one)) for one in call.args if isinstance(one, ast.Constant)]
    return any(flag.lstrip("-").replace("-", "_") == name for flag in flags)
