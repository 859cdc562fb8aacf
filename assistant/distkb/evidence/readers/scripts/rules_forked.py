"""Data sets that make CUDA tensors in the workers of a loader, which are forked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown
from distkb.evidence.readers.scripts.rules_workers import loaded_by_workers

_CUDA = "script.cuda-in-worker"
_GIVES = ("__getitem__", "__getitems__", "__iter__")
_DEPTH = 4
_OWNERS = frozenset({"accelerator", "fabric"})
"""What knows the rank's GPU as its `device`."""


def in_worker(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tensors that are put on the GPU where a worker of a loader gives out samples."""
    if job.mentions("set_start_method", "multiprocessing_context", "get_context", "set_default_device"):
        return
    told: set[int] = set()
    for owner, loads in loaded_by_workers(job):
        for name in _GIVES:
            method = owner.methods.get(name)
            call = next(_to_gpu(method, job), None) if method is not None else None
            if method is not None and call is not None and id(call) not in told:
                told.add(id(call))
                yield hit(_CUDA, method, call, call=shown(call), loader_line=str(loads.lineno))
    for function, site in job.sites() if job.mentions("collate_fn") else ():
        given, workers = keyword(site.node, "collate_fn"), keyword(site.node, "num_workers")
        if last(site.node.func) != "DataLoader" or given is None or workers is None or constant(workers) == 0:
            continue
        target = job.project.referred(given, function)
        call = next(_to_gpu(target, job), None) if target is not None else None
        if target is not None and call is not None and id(call) not in told:
            told.add(id(call))
            yield hit(_CUDA, target, call, call=shown(call), loader_line=str(site.node.lineno))


def _to_gpu(function: Function, job: ScriptContext) -> Iterator[ast.Call]:
    """Yield the calls of a function that put something on the GPU."""
    for site in job.project.walk(function).sites:
        call = site.node
        device = keyword(call, "device")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" and not _is_module(call.func, function):
            yield call
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args:
            device = device or call.args[0]
        if device is not None and _is_gpu(device, function, job):
            yield call


def _is_module(named: ast.Attribute, function: Function) -> bool:
    return canonical(named, function.script).startswith("torch.")


def _is_gpu(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether an expression is a device of CUDA, or stands for one wherever it comes from."""
    match node:
        case ast.Constant(value=str(text)):
            return text.startswith("cuda")
        case ast.JoinedStr(values=[first, *_]):
            return str(constant(first)).startswith("cuda")
        case ast.Attribute(value=owner, attr="device") if last(owner) in _OWNERS:
            return True
    behind = list(_behind(node, function, job)) if depth < _DEPTH else []
    return bool(behind) and all(_is_gpu(value, scope, job, depth + 1) for value, scope in behind)


def _behind(node: ast.expr, function: Function, job: ScriptContext) -> Iterable[tuple[ast.expr, Function]]:
    """Return what a device is made of: `torch.device(…)`, one way of a choice, what a name or attribute was given."""
    found: Iterable[tuple[ast.expr, Function]] = ()
    match node:
        case ast.BinOp(left=inside) | ast.IfExp(body=inside):
            found = [(inside, function)]
        case ast.Call(func=func, args=[given, *_]) if canonical(func, function.script) == "torch.device":
            found = [(given, function)]
        case ast.Attribute():
            found = job.project.held_under(node, function)
        case ast.Name(id=name):
            value = job.project.single(node, function)
            if value is not None:
                found = [(value, function)]
            elif name in function.parameters:
                found = job.project.given(name, function)
    return found


RULES = (ScriptRule(ids=(_CUDA,), check=in_worker),)
