"""Parts of a model that run only where the rank's batch brings an input for them, which not every batch does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_unused import finds_unused, models

_LEFT, _UNIT = "script.input-absent-on-rank", "script.unit-by-own-batch"
_COLLECTS = frozenset({"__call__", "__getitem__", "torch_call"})


def absent(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers of a model under DDP, or units of a sharded one, behind the test whether an input is there."""
    sharded = _units(job)
    wrapped = models(job) if not sharded and not finds_unused(job) else []
    for function in job.project.functions if sharded or wrapped else ():
        owner = function.owner
        if owner is None or function.name != f"{owner.name}.forward":
            continue
        if not sharded and owner not in wrapped:
            continue
        always = {dotted(one.node.func) for one in job.project.walk(function).sites if one.where.certain}
        for site in job.project.walk(function).sites:
            layer = dotted(site.node.func)
            if not layer.startswith("self.") or layer in always or not _is_layer(layer, owner, job):
                continue
            test = next((one for one in site.where.tests if _may_lack(one, function, job)), None)
            if test is not None and (not sharded or layer[5:] in sharded):
                values = {"layer": layer, "test": shown(test), "model": owner.name}
                yield hit(_UNIT if sharded else _LEFT, function, site.node, **values)
                break


def _units(job: ScriptContext) -> set[str]:
    """Return the words of what is sharded by itself, and of the lists whose elements are."""
    found: set[str] = set()
    for _, site in job.sites() if job.mentions("fully_shard") else ():
        if last(site.node.func) == "fully_shard" and site.node.args:
            found |= words(site.node.args[0])
            for loop in site.where.loops[-1:]:
                found |= words(loop.iter) if isinstance(loop, ast.For) else set()
    return found


def _is_layer(name: str, owner: Class, job: ScriptContext) -> bool:
    """Whether an attribute is made by a call: a module of its own, and no method."""
    held = job.project.attribute_values(owner).get(name[5:], [])
    return "." not in name[5:] and any(isinstance(value, ast.Call) for value in held)


def _may_lack(test: ast.expr, forward: Function, job: ScriptContext) -> bool:
    """Whether a test asks for a parameter that the project gives for some batches only."""
    asked = test.left if isinstance(test, ast.Compare) and _is_none(test.comparators[0]) else test
    if not isinstance(asked, ast.Name) or asked.id not in forward.parameters:
        return False
    names = {asked.id} | {last(value) for value, _ in job.project.given(asked.id, forward)} - {""}
    return any(_lacks(function, names) for function in job.project.functions)


def _lacks(function: Function, names: set[str]) -> bool:
    """Whether a function that makes samples or batches gives something of these names under a test, or None instead."""
    name = function.name.rpartition(".")[2]
    if name not in _COLLECTS and "collate" not in name.lower():
        return False
    for node in nodes(function.node):
        match node:
            case ast.Assign(targets=[target], value=ast.IfExp(body=one, orelse=other)):
                if _name(target) in names and any(_is_none(part) for part in (one, other)):
                    return True
            case ast.If(body=body, orelse=[]):
                put = (part for part in body if isinstance(part, ast.Assign))
                if any(isinstance(p.targets[0], ast.Subscript) and _name(p.targets[0]) in names for p in put):
                    return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _name(target: ast.expr) -> str:
    """Return a name, or the key under which something is put."""
    return str(constant(target.slice)) if isinstance(target, ast.Subscript) else last(target)


RULES = (ScriptRule(ids=(_LEFT, _UNIT), check=absent),)
