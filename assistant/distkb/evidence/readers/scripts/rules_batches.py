"""Batch sizes that mean something else here than where they come from: one process's batch times all processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, last, shown
from distkb.evidence.readers.scripts.ranks import environment

_TIMES = "script.batch-times-processes"
_COUNTS = frozenset({"torch.cuda.device_count", "torch.distributed.get_world_size"})
_TOTAL = ("split_batches", "dispatch_batches", "DataParallel", "BatchSampler", "chunk", "tensor_split", "scatter",
          "fully_shard", "init_device_mesh")  # fmt: skip
"""Names of what divides such a batch again."""
_DEPTH = 4


def times_processes(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loaders of each process whose batch has been multiplied by the number of processes or GPUs."""
    if not job.mentions("DistributedDataParallel", "Accelerator") or job.mentions(*_TOTAL):
        return
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        if not full.startswith("torch.utils.data.") or last(site.node.func) != "DataLoader":
            continue
        if site.where.side != "both":
            continue
        size = argument(site.node, "batch_size", 1)
        factor = None if size is None else _factor(size, function, job)
        if size is not None and factor is not None:
            yield hit(_TIMES, function, site.node, size=shown(size), count=shown(factor))


def _factor(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> ast.expr | None:
    """Return the number of processes by which a value is multiplied, where it is nothing but a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return next((side for side in (node.left, node.right) if _is_count(side, function, job)), None)
    if depth >= _DEPTH or not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    held = job.project.stands_for(node, function)
    return _factor(held[0][0], held[0][1], job, depth + 1) if len(held) == 1 else None


def _is_count(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a value is the number of processes, or of the GPUs of the machine."""
    if isinstance(node, ast.Attribute) and node.attr == "num_processes":
        return True
    if isinstance(node, (ast.Name, ast.Attribute)) and depth < _DEPTH:
        held = job.project.stands_for(node, function)
        return len(held) == 1 and _is_count(held[0][0], held[0][1], job, depth + 1)
    if isinstance(node, ast.Call) and last(node.func) == "int" and node.args:
        return _is_count(node.args[0], function, job, depth + 1)
    if isinstance(node, ast.Call) and canonical(node.func, function.script) in _COUNTS:
        return True
    return environment(node) == "WORLD_SIZE"


RULES = (ScriptRule(ids=(_TIMES,), check=times_processes),)
