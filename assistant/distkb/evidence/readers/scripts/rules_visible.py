"""GPUs that are hidden from a process by hand and then asked for under the numbers that they had before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment, is_rank

_HIDDEN, _LATE = "script.hidden-and-numbered", "script.gpus-hidden-late"
_NAME = "CUDA_VISIBLE_DEVICES"


def hidden(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield GPUs asked for by the rank's number in a job that shows each rank one GPU, which is number 0 there."""
    if not job.mentions(_NAME):
        return
    set_by = next(((f, n) for f, n, value in _shown(job) if _is_rank(value, f, job)), None)
    if set_by is None:
        return
    for function, site in job.sites():
        number = _number(site.node, function)
        if number is not None and _is_rank(number, function, job) and site.where.certain:
            values = {"call": shown(site.node), "set_line": str(set_by[1].lineno), "number": shown(number)}
            found = hit(_HIDDEN, function, site.node, **values)
            yield msgspec.structs.replace(found, more=((set_by[0].script, set_by[1].lineno),))
            return


def late(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield settings of the visible GPUs below a line of the same function that has begun to use one."""
    for function, node, _ in _shown(job) if job.mentions(_NAME) else ():
        used = [
            site
            for site in job.project.walk(function).sites
            if site.where.certain and site.node.lineno < node.lineno and _uses(site.node, function)
        ]
        if used:
            yield hit(_LATE, function, node, call=shown(used[0].node), used_line=str(used[0].node.lineno))


def _shown(job: ScriptContext) -> Iterator[tuple[Function, ast.expr, ast.expr]]:
    """Yield where a function says which GPUs its process sees, with what it says."""
    for function in job.project.functions:
        own = {id(part) for inner in function.inner.values() for part in nodes(inner.node)}
        for node in nodes(function.node):
            if id(node) in own or not isinstance(node, ast.Assign) or _is_deeper(node, function, job):
                continue
            for target in node.targets:
                if isinstance(target, ast.Subscript) and environment(target) == _NAME:
                    yield function, target, node.value


def _is_deeper(node: ast.Assign, function: Function, job: ScriptContext) -> bool:
    """Whether a statement belongs to a function that stands within this one."""
    inside = (f for f in job.project.functions if f.script is function.script and f is not function)
    here = getattr(function.node, "lineno", 0)
    lines = ((getattr(f.node, "lineno", 0), getattr(f.node, "end_lineno", None) or 0) for f in inside)
    return any(here < first <= node.lineno <= final for first, final in lines)


def _is_rank(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    inner = node
    if isinstance(node, ast.JoinedStr) and len(node.values) == 1 and isinstance(node.values[0], ast.FormattedValue):
        inner = node.values[0].value
    return is_rank(inner, lambda part: job.project.single(part, function))


def _number(call: ast.Call, function: Function) -> ast.expr | None:
    """Return by which number a call asks for a GPU."""
    full = canonical(call.func, function.script)
    if full == "torch.cuda.set_device" and call.args:
        return _of_text(call.args[0])
    if full == "torch.device" and call.args:
        return call.args[1] if len(call.args) > 1 else _of_text(call.args[0], plain=False)
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"cuda", "to"} and len(call.args) == 1:
        return _of_text(call.args[0], plain=call.func.attr == "cuda")
    return None


def _of_text(node: ast.expr, *, plain: bool = True) -> ast.expr | None:
    """Return `rank` of `f"cuda:{rank}"`; where a number may stand, the expression itself."""
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        start, value = node.values
        if constant(start) == "cuda:" and isinstance(value, ast.FormattedValue):
            return value.value
    return node if plain else None


def _uses(call: ast.Call, function: Function) -> bool:
    """Whether a call surely begins to use a GPU, from when on the process keeps the GPUs that it sees."""
    full = canonical(call.func, function.script)
    if full in {"torch.cuda.set_device", "torch.cuda.init", "torch.cuda.synchronize", "torch.cuda.get_device_name"}:
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda" and dotted(call.func) != "torch.cuda":
        return not dotted(call.func).startswith("torch.")
    return call.func.attr == "to" and bool(call.args) and str(constant(call.args[0])).startswith("cuda")


RULES = (
    ScriptRule(ids=(_HIDDEN,), check=hidden),
    ScriptRule(ids=(_LATE,), check=late),
)
