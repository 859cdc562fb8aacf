"""Which calls made a metric of torchmetrics or evaluate, which brings the ranks' states together when it computes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project

_DEPTH = 7
_SAME = frozenset({"clone", "to", "cuda", "cpu", "float", "half", "eval", "train", "values", "items"})
"""Methods that give back the metric, a copy of it, or the metrics inside of a container."""
_CONTAINERS = frozenset({"ModuleDict", "ModuleList", "dict", "list", "tuple", "enumerate"})
_LOADS = frozenset({"evaluate.load", "evaluate.combine", "datasets.load_metric"})


def metrics_of(node: ast.expr, function: Function, project: Project, depth: int = 0) -> list[ast.Call]:
    """Return the calls that made the metrics that an expression holds; nothing where it may hold something else."""
    if depth > _DEPTH:
        return []
    if isinstance(node, ast.Call):
        return _of_call(node, function, project, depth)
    return _all(_held(node, function, project), project, depth)


def _held(node: ast.expr, function: Function, project: Project) -> Iterable[tuple[ast.expr, Function]]:
    """Return what an expression stands for, or the things in a container that is written out."""
    match node:
        case ast.Subscript(value=inside) | ast.ListComp(elt=inside) | ast.GeneratorExp(elt=inside):
            return [(inside, function)]
        case ast.DictComp(value=inside):
            return [(inside, function)]
        case ast.Dict(values=inner) | ast.List(elts=inner) | ast.Tuple(elts=inner):
            return [(one, function) for one in inner]
        case ast.Attribute():
            return project.held_under(node, function)
        case ast.Name(id=name):
            scope, made = project.binding(name, function)
            return [(one.value, scope) for one in made] or (
                project.given(name, scope) if name in scope.parameters else ()
            )
    return []


def _of_call(call: ast.Call, function: Function, project: Project, depth: int) -> list[ast.Call]:
    if _makes(call, function, project):
        return [call]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME:
        return metrics_of(call.func.value, function, project, depth + 1)
    if last(call.func) in _CONTAINERS and len(call.args) == 1:
        return metrics_of(call.args[0], function, project, depth + 1)
    return _all(project.returned(call, function), project, depth)


def _makes(call: ast.Call, function: Function, project: Project) -> bool:
    """Whether a call makes a metric that speaks to the other ranks."""
    full = canonical(call.func, function.script)
    if full in _LOADS:
        ranks = keyword(call, "num_process")
        return ranks is not None and constant(ranks) != 1
    if constant(keyword(call, "sync_on_compute")) is False:
        return False
    if full.startswith("torchmetrics.") and ".functional" not in full:
        return full.rpartition(".")[2][:1].isupper()
    cls = project.class_named(call.func, function.script)
    return cls is not None and any(canonical(base, cls.script) in _BASES for base in cls.node.bases)


_BASES = frozenset({"torchmetrics.Metric", "torchmetrics.metric.Metric", "torchmetrics.MetricCollection"})


def _all(values: Iterable[tuple[ast.expr, Function]], project: Project, depth: int) -> list[ast.Call]:
    """Return the metrics of several values; nothing where one of them is none."""
    found: list[ast.Call] = []
    for value, scope in values:
        if isinstance(value, ast.Constant) and value.value is None:
            continue
        inside = metrics_of(value, scope, project, depth + 1)
        if not inside:
            return []
        found += inside
    return found


def computes_together(call: ast.Call, function: Function, project: Project) -> bool:
    """Whether a call has a metric bring the states of all ranks together: `compute()`, or each step of some."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compute":
        return bool(metrics_of(call.func.value, function, project))
    if not project.declared.has_stepwise_metrics or not dotted(call.func):
        return False
    made = metrics_of(call.func, function, project)
    return bool(made) and all(constant(keyword(one, "dist_sync_on_step")) is True for one in made)
