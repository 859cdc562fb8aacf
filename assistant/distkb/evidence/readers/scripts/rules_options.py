"""Options of trainers: one thing given in two places, and two things of which a trainer takes only one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings, setting
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown

_TWICE, _MAYBE = "script.option-given-twice", "script.option-may-be-given-twice"
_OF_PLUGINS = {"checkpoint_io": "CheckpointIO", "precision_plugin": "Precision", "cluster_environment": "Environment"}
"""What a strategy of Lightning's is given under a name, and how the classes end that are given as plugins as well."""
_MOST = 12


class _Given(msgspec.Struct, frozen=True, eq=False):
    """A value that an option has, where it is made, and whether it has it in every run."""

    node: ast.expr
    function: Function
    certain: bool


def given_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield trainers of Lightning that are told one thing in two places, at which they stop."""
    if not job.mentions("lightning", "pytorch_lightning", "lightning_fabric"):
        return
    for function, call in job.calls():
        if kinds.kind_of(call, function, job.project) not in {kinds.PL_TRAINER, kinds.FABRIC}:
            continue
        if not canonical(call.func, function.script).endswith(("Trainer", "Fabric")):
            continue
        for one, other in _pairs(call, function, job):
            sure = one.certain and other.certain
            found = hit(
                _TWICE if sure else _MAYBE, function, call, one=shown(one.node), other=shown(other.node),
                one_line=str(one.node.lineno), other_line=str(other.node.lineno),
            )  # fmt: skip
            more = ((one.function.script, one.node.lineno), (other.function.script, other.node.lineno))
            yield msgspec.structs.replace(found, more=more)
            break


def _pairs(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[tuple[_Given, _Given]]:
    plugins = list(_elements(call, function, job))
    for strategy in _values(call, "strategy", function, job):
        if not isinstance(strategy.node, ast.Call):
            continue
        for name, ending in _OF_PLUGINS.items():
            for held in _values(strategy.node, name, strategy.function, job, strategy.certain):
                yield from ((held, one) for one in plugins if _is_a(one, ending, job))
        for held in _values(strategy.node, "accelerator", strategy.function, job, strategy.certain):
            chosen = _values(call, "accelerator", function, job)
            yield from ((held, one) for one in chosen if constant(one.node) != "auto")
    for number, one in enumerate(plugins):
        for ending in _OF_PLUGINS.values():
            if _is_a(one, ending, job):
                yield from ((one, other) for other in plugins[number + 1 :] if _is_a(other, ending, job))
        if _is_a(one, "Precision", job):
            yield from ((chosen, one) for chosen in _values(call, "precision", function, job))


def _is_a(given: _Given, ending: str, job: ScriptContext) -> bool:
    """Whether a value is an object of a class whose name, or whose base's name, ends so."""
    call = given.node
    if not isinstance(call, ast.Call):
        return False
    cls = job.project.class_named(call.func, given.function.script)
    names = [last(call.func)] if cls is None else [last(base) for base in cls.node.bases]
    return any(name.removesuffix("Plugin").endswith(ending) for name in names)


def _values(
    call: ast.Call, name: str, function: Function, job: ScriptContext, certain: bool = True
) -> Iterator[_Given]:
    """Yield what an option of a call may be other than nothing."""
    value = setting(call, name, function, job.project)
    if value is None:
        return
    found = list(meanings(value, function, job.project))[:_MOST]
    certain = certain and len(found) == 1
    for node, scope in found:
        made = isinstance(node, ast.Call) and last(node.func)[:1].isupper()
        if isinstance(node, ast.Constant) and node.value is not None:
            yield _Given(node, scope, certain and not isinstance(value, ast.Attribute))
        elif made or (isinstance(node, ast.Call) and name in _OF_PLUGINS):
            yield _Given(node, scope, certain and made)


def _elements(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[_Given]:
    """Yield the plugins that a trainer gets: one, those of a list, and those that are appended to the list."""
    value = setting(call, "plugins", function, job.project)
    found = list(meanings(value, function, job.project))[:_MOST]
    for node, scope in found:
        if isinstance(node, ast.Call):
            yield _Given(node, scope, len(found) == 1)
        elif isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                made = list(meanings(element, scope, job.project))
                yield from (_Given(one, where, len(found) == len(made) == 1) for one, where in made)
            yield from _appended(node, scope, job)


def _appended(container: ast.expr, function: Function, job: ScriptContext) -> Iterator[_Given]:
    walked = job.project.walk(function)
    names = {one.target for one in walked.assignments if one.value is container}
    for name in names:
        for site in walked.puts.get(name, []):
            if dotted(site.node.func) == f"{name}.append":
                for node, scope in meanings(site.node.args[0], function, job.project):
                    yield _Given(node, scope, site.where.certain and not site.where.tests)


RULES = (ScriptRule(ids=(_TWICE, _MAYBE), check=given_twice),)
