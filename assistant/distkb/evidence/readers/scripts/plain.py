"""What a number is and nothing else: a variable of the launcher, or a call, through names, fields and helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Class, Function, around
from distkb.evidence.readers.scripts.fields import fields_of
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.made import Meaning
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.ranks import environment

_DEPTH = 7
_PROPERTIES = frozenset({"property", "cached_property"})


class Wanted(msgspec.Struct, frozen=True):
    """What a number is to be."""

    variables: frozenset[str]
    """Of the launcher."""
    calls: frozenset[str] = frozenset()
    """Without arguments."""


def plainly(node: ast.expr, function: Function, job: ScriptContext, wanted: Wanted, depth: int = 0) -> str | None:
    """Return the variable of the launcher, or the call, that a number always is; None where it may be another.

    A 0 beside it, for the run of one process, does not count.
    """
    if environment(node) in wanted.variables:
        return shown(node)
    if isinstance(node, ast.Call) and canonical(node.func, function.script) in wanted.calls:
        return None if node.args or node.keywords else shown(node)
    behind = [(value, scope) for value, scope in _behind(node, function, job) if constant(value) != 0]
    found = [plainly(value, scope, job, wanted, depth + 1) for value, scope in behind if depth < _DEPTH]
    return found[0] if found and all(found) else None


def _behind(node: ast.expr, function: Function, job: ScriptContext) -> list[Meaning]:
    """Return everything that a number may be the same as."""
    if isinstance(node, ast.IfExp):
        return [(node.body, function), (node.orelse, function)]
    if isinstance(node, ast.Call):
        turned = last(node.func) in {"int", "str"} and len(node.args) == 1
        return [(node.args[0], function)] if turned else _given_back(node, function, job)
    if isinstance(node, ast.Attribute):
        return _of_attribute(node, function, job)
    return _of_name(node, function, job) if isinstance(node, ast.Name) else []


def _given_back(call: ast.Call, function: Function, job: ScriptContext) -> list[Meaning]:
    """Return what a helper gives back, or what `field(…)` gives where nothing else does."""
    factory = keyword(call, "default_factory") if last(call.func) == "field" else None
    if isinstance(factory, ast.Lambda):
        return [(factory.body, function)]
    return job.project.returned(call, function)


def _of_name(node: ast.Name, function: Function, job: ScriptContext) -> list[Meaning]:
    """Return all that a name is assigned above, or given by the callers; nothing where something is added to it."""
    scope, made = job.project.binding(node.id, function, node.lineno)
    if node.id in job.project.walk(scope).changes:
        return []
    found: list[Meaning] = []
    for one in made:
        behind = [(one.value, scope)] if one.index is None else job.project.returned(one.value, scope, one.index)
        if not behind:
            return []
        found += behind
    return found or (list(job.project.given(node.id, scope)) if node.id in scope.parameters else [])


def _of_attribute(node: ast.Attribute, function: Function, job: ScriptContext) -> list[Meaning]:
    """Return what an attribute of an object of the project's holds, or its property gives back."""
    owner = job.project.holder(node, function)
    if owner is None:
        return []
    method = job.project.method(owner, node.attr)
    if method is not None:
        is_property = any(last(one) in _PROPERTIES for one in getattr(method.node, "decorator_list", []))
        return [(value, method) for value, _ in job.project.walk(method).returns] if is_property else []
    held = job.project.attribute_values(owner).get(node.attr, [])
    return [*((value, around(value, owner, function)) for value in held), *_of_field(node, owner, job)]


def _of_field(node: ast.Attribute, owner: Class, job: ScriptContext) -> Iterator[Meaning]:
    """Yield what objects get for a field wherever they are made; the object's own name where that is not plain."""
    fields = fields_of(node, owner)
    for scope, site in job.sites() if fields is not None else ():
        made = job.project.class_named(site.node.func, scope.script)
        if made is owner or (dotted(site.node.func) == "cls" and job.project.owner_of(scope) is owner):
            given = None if fields is None else fields.given(site.node, node.attr)
            yield given or node.value, scope
