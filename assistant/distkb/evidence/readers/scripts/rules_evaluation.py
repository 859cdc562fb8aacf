"""Evaluation that builds graphs which nobody goes back through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.graphs import Graphs
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import last, shown

_GRAPHS = "script.evaluation-builds-graph"
_EVALUATES = re.compile(r"(?i)^_?(?:run_)?(?:eval|evaluate|evaluation|validate|validation|valid|test|dev)(?:_|$)")
_TRAINER = re.compile(r"Module$|Trainer$|Callback$|TestCase$")
_QUIET = frozenset({"no_grad", "inference_mode", "set_grad_enabled", "autograd"})
_DEPTH = 3


def builds_graph(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield evaluations, called by a training, whose loop runs the model with gradients switched on."""
    if not job.is_parallel or not job.mentions("backward") or job.mentions("set_grad_enabled", "requires_grad_"):
        return
    graphs = Graphs(job.project)
    for function in job.project.functions:
        if any(_TRAINER.search(last(base)) for base in function.bases) or not job.project.callers(function):
            continue
        sites = job.project.walk(function).sites
        names = {last(site.node.func) for site in sites}
        named = _EVALUATES.match(function.name.rpartition(".")[2]) and _is_for_data(function)
        if names & {"backward", "grad"} or not (named or "eval" in names):
            continue
        if _is_quiet_outside(function, job, 0):
            continue
        for site in sites:
            if site.where.loops and graphs.carries(site.node, function) and _is_model(site.node):
                yield hit(_GRAPHS, function, site.node, call=shown(site.node.func))
                break


def _is_for_data(function: Function) -> bool:
    return any(re.search(r"(?i)loader|dl|data|batches", name) for name in function.parameters)


def _is_model(call: ast.Call) -> bool:
    return isinstance(call.func, (ast.Name, ast.Attribute)) and last(call.func)[:1].islower()


def _is_quiet_outside(function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether any caller has switched gradients off around its call."""
    for caller, site in job.project.callers(function) if depth < _DEPTH else ():
        marked = {last(one.func if isinstance(one, ast.Call) else one)
                  for one in getattr(caller.node, "decorator_list", ())}  # fmt: skip
        if (site.where.entered | marked) & _QUIET or _is_quiet_outside(caller, job, depth + 1):
            return True
    return False


RULES = (ScriptRule(ids=(_GRAPHS,), check=builds_graph),)
