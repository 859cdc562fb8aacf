"""Layers as wide as the rank's own data has words or classes, whose weights then have other shapes on each rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_WIDTH = "script.layer-by-own-data"
_LAYERS = frozenset({"Linear", "Embedding", "EmbeddingBag", "LSTM", "GRU", "Conv1d", "Conv2d", "Parameter"})
_COUNTS = frozenset({"len", "max"})
_AVERAGES = (
    "DistributedDataParallel",
    "all_reduce",
    "FullyShardedDataParallel",
    "fully_shard",
    "broadcast",
    "Accelerator",
)
_DIVIDES = ("pipelining", "PipelineModule", "ColwiseParallel", "parallelize_module", "all_to_all_single", "all_to_all")
"""What is used where the ranks are meant to hold other parts of a model."""
_DEPTH = 4


def by_own_data(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers whose size is counted on the rank's own part of the data, in a model that is averaged over ranks."""
    if not job.mentions(*_AVERAGES) or job.mentions(*_DIVIDES):
        return
    told: set[int] = set()
    for function, site in job.sites():
        call = site.node
        full = canonical(call.func, function.script)
        if not full.startswith("torch.nn.") or last(call.func) not in _LAYERS or site.where.side != "both":
            continue
        for size in (*call.args[:2], *(word.value for word in call.keywords)):
            found = next(_counted(size, function, job, 0), None)
            if found is not None and id(found[0]) not in told:
                told.add(id(found[0]))
                yield hit(
                    _WIDTH, function, call, layer=shown(call), count=shown(found[0]), count_line=str(found[0].lineno)
                )


def _counted(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> Iterator[tuple[ast.expr, Function]]:
    """Yield the counts, in what a size is made of, that go through the rank's own part of the data."""
    if isinstance(node, ast.BinOp) and depth < _DEPTH:
        yield from _counted(node.left, function, job, depth + 1)
        yield from _counted(node.right, function, job, depth + 1)
        return
    for value, scope in meanings(node, function, job.project):
        if isinstance(value, ast.BinOp) and depth < _DEPTH:
            yield from _counted(value, scope, job, depth + 1)
        elif isinstance(value, ast.Call) and last(value.func) in _COUNTS and value.args:
            given = any(isinstance(part, (ast.Name, ast.Attribute)) for part in nodes(value.args[0]))
            if given and any(reason.origin == "part" for reason in job.origins.of(value, scope)):
                yield value, scope


RULES = (ScriptRule(ids=(_WIDTH,), check=by_own_data),)
