"""The GPU's number taken from the global rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown
from distkb.evidence.readers.scripts.project import Function
from distkb.evidence.readers.scripts.ranks import environment

_ID = "script.device-from-global-rank"
_DEPTH = 4
_RANKS = frozenset({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})


def device_from_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `set_device`, `torch.device` and `.to` that are given the global rank as it is.

    On one machine global and local rank are the same number, so this shows with the second one only.
    """
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            number = _index(site.node, function)
            source = None if number is None else _global(number, function, job)
            if number is not None and source is not None:
                yield hit(_ID, function, site.node, call=shown(site.node), source=source)
                break


def _index(call: ast.Call, function: Function) -> ast.expr | None:
    """Return the expression that gives the number of the GPU."""
    full = canonical(call.func, function.script)
    if full in {"torch.cuda.set_device", "torch.xpu.set_device"} and call.args:
        return _numbered(call.args[0]) or call.args[0]
    if full == "torch.device" and call.args:
        return call.args[1] if len(call.args) > 1 else _numbered(call.args[0])
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"to", "cuda"} and len(call.args) == 1:
        return _numbered(call.args[0]) or (call.args[0] if isinstance(call.args[0], ast.Name) else None)
    return None


def _numbered(node: ast.expr) -> ast.expr | None:
    """Return `rank` of `f"cuda:{rank}"` and of `"cuda:" + str(rank)`."""
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        start, value = node.values
        if isinstance(start, ast.Constant) and start.value == "cuda:" and isinstance(value, ast.FormattedValue):
            return value.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Constant):
        return node.right if node.left.value == "cuda:" else None
    return None


def _global(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> str | None:
    """Return how a number was made from the global rank and nothing else; None where it was not."""
    inner: ast.expr | None = None
    if depth > _DEPTH:
        return None
    if environment(node) in _RANKS:
        return shown(node)
    if isinstance(node, ast.Call):
        full = canonical(node.func, function.script)
        if full in {"torch.distributed.get_rank", "deepspeed.comm.get_rank"} and not node.args and not node.keywords:
            return shown(node)
        inner = node.args[0] if last(node.func) in {"int", "str"} and len(node.args) == 1 else None
    elif dotted(node):
        inner = job.project.single(node, function)
    return None if inner is None else _global(inner, function, job, depth + 1)


RULES = (ScriptRule(ids=(_ID,), check=device_from_rank),)
