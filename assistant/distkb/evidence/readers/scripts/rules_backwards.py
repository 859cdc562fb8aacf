"""Backwards of a DDP model after the first one since its forward, which DDP does not average."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_SECOND = "script.second-backward"
_BY_HAND = ("no_sync", "require_backward_grad_sync", "prepare_for_backward")
"""Names of what lets a script choose which backward is averaged."""


def second(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a backward that follows another one with no forward of the DDP model between them."""
    if job.mentions(*_BY_HAND) or _averages_itself(job):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        if not any(last(site.node.func) == "backward" for site in sites):
            continue
        models: list[str] = []
        before: Site | None = None
        for site in sites:
            ran = _runs(site, function, job)
            if ran and before is not None:
                models, before = [], None
            models += ran
            if last(site.node.func) != "backward" or len(set(models)) != 1 or keyword(site.node, "inputs") is not None:
                continue
            again = _is_repeated(site, sites, function, job)
            if again or (before is not None and _follows(before, site, function, len(models))):
                first = before or site
                values = {"first_line": str(first.node.lineno), "model": models[0], "call": shown(site.node)}
                yield hit(_SECOND, function, site.node, **values)
                break
            before = site


def _averages_itself(job: ScriptContext) -> bool:
    """Whether any script exchanges gradients by its own collectives."""
    return any("all_reduce" in last(call.func) and "grad" in words(call) for _, call in job.calls())


def _runs(site: Site, function: Function, job: ScriptContext, depth: int = 0) -> list[str]:
    """Return the names of the DDP models whose forward a call makes, itself or in a function of the project."""
    call = site.node
    if site.where.entered & WITHOUT_GRADIENTS:
        return []
    kind = kinds.kind_of(call.func, function, job.project, call.lineno)
    name = dotted(call.func)
    prepared = kind == kinds.PREPARED and name.rpartition(".")[2].endswith(("model", "net", "network"))
    if name and (kind == kinds.DDP or (prepared and not _shards_by_plugin(job))):
        return [name.rpartition(".")[2]]
    below = job.project.below(call, function) if depth == 0 else []
    return [name for target, inner in below for name in _runs(inner, target, job, 1)]


def _shards_by_plugin(job: ScriptContext) -> bool:
    return job.project.declared.has_sharding_plugin or job.mentions("DeepSpeedPlugin", "deepspeed")


def _keeps_graph(site: Site) -> bool:
    return constant(keyword(site.node, "retain_graph")) is True


def _follows(before: Site, site: Site, function: Function, forwards: int) -> bool:
    """Whether a backward goes through the graph of the forward whose backward was made before."""
    both = before.where.loops == site.where.loops and before.where.tests == site.where.tests
    if not both or before.statement is site.statement:
        return False
    return _keeps_graph(before) or (forwards > 1 and not _steps_between(before, site, function))


def _steps_between(before: Site, site: Site, function: Function) -> bool:
    calls = (node for node in nodes(function.node) if isinstance(node, ast.Call))
    return any(last(c.func) == "step" and before.node.lineno < c.lineno < site.node.lineno for c in calls)


def _is_repeated(site: Site, sites: list[Site], function: Function, job: ScriptContext) -> bool:
    """Whether a loop makes the backward again and again and no forward."""
    loop = site.where.loops[-1] if site.where.loops else None
    if not isinstance(loop, ast.For) or not _keeps_graph(site):
        return False
    return not any(loop in one.where.loops and _runs(one, function, job) for one in sites)


RULES = (ScriptRule(ids=(_SECOND,), check=second),)
