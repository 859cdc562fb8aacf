"""The GPU's number taken from the global rank, and the global rank from the number within the node."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, keyword, last, shown, walk
from distkb.evidence.readers.scripts.project import Function
from distkb.evidence.readers.scripts.ranks import environment

_ID, _RANK = "script.device-from-global-rank", "script.rank-from-local"
_DEPTH = 4
_RANKS = frozenset({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})
_CALLS = frozenset({"torch.distributed.get_rank", "deepspeed.comm.get_rank"})
_LOCAL = frozenset({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"})


def device_from_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `set_device`, `torch.device` and `.to` that are given the global rank as it is.

    On one machine global and local rank are the same number, so this shows with the second one only.
    """
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            number = _index(site.node, function)
            source = None if number is None else plainly(number, function, job, _RANKS, _CALLS)
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


def plainly(
    node: ast.expr, function: Function, job: ScriptContext, variables: frozenset[str], calls: frozenset[str]
) -> str | None:
    """Return the variable of the launcher, or the call, that a number is and nothing else; None where it is not."""
    for _ in range(_DEPTH + 1):
        if environment(node) in variables:
            return shown(node)
        inner: ast.expr | None = None
        if isinstance(node, ast.Call):
            full = canonical(node.func, function.script)
            if full in calls and not node.args and not node.keywords:
                return shown(node)
            inner = node.args[0] if last(node.func) in {"int", "str"} and len(node.args) == 1 else None
        elif dotted(node):
            inner = job.project.single(node, function)
        if inner is None:
            return None
        node = inner
    return None


def rank_from_local(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield RANK, or the rank of the default group, that is given the number which counts on every node from 0."""
    for function in job.project.functions:
        for node in walk(function.node):
            for value in _ranks_given(node, function):
                source = plainly(value, function, job, _LOCAL, frozenset())
                if source is not None and isinstance(node, (ast.Call, ast.Assign)):
                    yield hit(_RANK, function, node, source=source)


def _ranks_given(node: ast.AST, function: Function) -> Iterator[ast.expr]:
    """Yield what a statement or call makes the global rank."""
    if isinstance(node, ast.Assign) and environment(node.targets[0]) == "RANK":
        yield node.value
    if not isinstance(node, ast.Call):
        return
    name = dotted(node.func)
    if name.endswith(("environ.setdefault", "os.putenv")) and len(node.args) > 1 and constant(node.args[0]) == "RANK":
        yield node.args[1]
    given = keyword(node, "RANK") if name.endswith("environ.update") else None
    if name.endswith("environ.update"):
        tables = [one for one in node.args if isinstance(one, ast.Dict)]
        yield from (v for one in tables for k, v in zip(one.keys, one.values, strict=True) if constant(k) == "RANK")
    if canonical(node.func, function.script) == "torch.distributed.init_process_group":
        given = keyword(node, "rank")
    if given is not None:
        yield given


RULES = (
    ScriptRule(ids=(_ID,), check=device_from_rank),
    ScriptRule(ids=(_RANK,), check=rank_from_local),
)
