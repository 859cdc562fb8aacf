"""What a process does once: it sets the start method, and begins Accelerate, not before a notebook launches ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, keyword, last, shown
from distkb.evidence.readers.scripts.project import Function
from distkb.evidence.readers.scripts.rules_processes import surely_called
from distkb.evidence.readers.scripts.rules_workers import tried
from distkb.evidence.readers.scripts.source import Script

_TWICE, _BEGUN = "script.start-method-twice", "script.begun-before-notebook"
_SETS = frozenset({"multiprocessing.set_start_method", "torch.multiprocessing.set_start_method"})
_IMPORTS = 3
"""Imports in one another that are followed."""
_ASKS = frozenset({"is_available", "device_count", "is_bf16_supported", "manual_seed", "manual_seed_all"})
"""Functions of torch.cuda that do not begin CUDA, or that others call before a fork without harm."""


def set_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a second `set_start_method` that surely runs in the process of the first, and is not told to force it."""
    for script in job.project.scripts if job.mentions("set_start_method") else ():
        made = list({id(site.node): (f, site) for f, site in _of_start(script, job, 0)}.values())
        if len(made) > 1:
            function, second = made[-1]
            first = made[0][1].node
            values = {"call": shown(second.node), "first": f"{made[0][0].script.path.name}:{first.lineno}"}
            yield hit(_TWICE, function, second.node, **values)
            return


def _of_start(script: Script, job: ScriptContext, depth: int) -> Iterator[tuple[Function, Site]]:
    """Yield the calls that a script makes when it starts: those of the files that it imports, then its own."""
    for name in script.imports.values() if depth < _IMPORTS else ():
        other = job.project.module_named(name, script) or job.project.module_named(name.rpartition(".")[0], script)
        if other is not None and other is not script:
            yield from (one for one in _of_start(other, job, depth + 1) if one[1].where.tests == ())
    top = job.project.modules[id(script)]
    for site in job.project.walk(top).sites:
        if site.where.certain and not site.where.loops:
            for function, one in surely_called(site, top, job, _SETS):
                force = keyword(one.node, "force") or next(iter(one.node.args[1:2]), None)
                if constant(force) is not True and id(one.node) not in tried(function):
                    yield function, one


def before_notebook(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what begins Accelerate or CUDA in the process that then forks the ranks with `notebook_launcher`."""
    for function, site in job.sites() if job.mentions("notebook_launcher") else ():
        number = keyword(site.node, "num_processes") or next(iter(site.node.args[2:3]), None)
        if last(site.node.func) != "notebook_launcher" or number is None or constant(number) == 1:
            continue
        top = job.project.modules[id(function.script)]
        scopes = [function] if function is top else [top, function]
        for scope in scopes:
            early = (one for one in job.project.walk(scope).sites if scope is not function or one.node is not site.node)
            for one in early:
                above = scope is not function or one.node.lineno < site.node.lineno
                if above and one.where.certain and _begins(one.node, scope, job):
                    yield hit(_BEGUN, scope, one.node, call=shown(one.node), launch=str(site.node.lineno))
                    return


def _begins(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    full = canonical(call.func, function.script)
    if full.startswith("accelerate.") and last(call.func) == "Accelerator":
        return True
    if full.startswith("torch.cuda."):
        return last(call.func) not in _ASKS
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" and not call.args:
        return True
    device = keyword(call, "device") or (call.args[0] if last(call.func) == "to" and call.args else None)
    if str(constant(device)).startswith("cuda"):
        return True
    target = job.project.target(call, function) if depth < _IMPORTS else None
    inside = job.project.walk(target).sites if target is not None else ()
    return target is not None and any(one.where.certain and _begins(one.node, target, job, depth + 1) for one in inside)


RULES = (
    ScriptRule(ids=(_TWICE,), check=set_twice),
    ScriptRule(ids=(_BEGUN,), check=before_notebook),
)
