"""Models that are wrapped for the whole job though each group of ranks trains one of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword
from distkb.evidence.readers.scripts.collectives import is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.ranks import is_rank

_WHOLE = "script.wrapped-for-whole-job"
_WRAPS = {
    "torch.nn.parallel.DistributedDataParallel": ("process_group", "device_mesh"),
    "torch.nn.parallel.distributed.DistributedDataParallel": ("process_group", "device_mesh"),
    "torch.distributed.fsdp.FullyShardedDataParallel": ("process_group", "device_mesh"),
    "torch.distributed.fsdp.fully_shard": ("mesh",),
}
_LEFT = frozenset({"_ddp_params_and_buffers_to_ignore", "_set_params_and_buffers_to_ignore_for_model"})
"""Names that show that some parameters are kept out of DDP."""
_DATA = frozenset({"DataLoader", "DistributedSampler"})
_MOVES = frozenset({"to", "cuda", "device", "set_device"})
_ONLY_PLACE = re.compile(r"(?i)device|gpu|local|node|host|cuda")
"""Names of how many ranks share a machine: what is left of the rank names a place and no group."""
_SUMS = frozenset({"all_reduce", "reduce", "all_gather", "all_gather_object", "gather", "all_gather_into_tensor"})
_DEPTH = 6


def whole_job(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield wrapped models that differ from group to group, or learn from data that does, and are told no group."""
    if not job.mentions("new_group", "new_subgroups", "new_subgroups_by_enumeration") or job.mentions(*_LEFT):
        return
    for function, site in job.sites():
        told = _WRAPS.get(canonical(site.node.func, function.script))
        call = site.node
        if told is None or not call.args or len(call.args) > 1 or has_spread(call) or site.where.expects_error:
            continue
        if any(keyword(call, name) is not None for name in told):
            continue
        by = _divides(call.args[0], function, job) or _divided_data(function, job)
        if by is not None:
            yield hit(_WHOLE, function, call, call=shown(call), by=shown(by), argument=told[0])


def _divided_data(function: Function, job: ScriptContext) -> ast.expr | None:
    """Return what picks the data of a group, in a job that sums within its groups and never over all ranks."""
    operations = [(f, call) for f, call in job.calls() if is_operation(call, f) and last(call.func) in _SUMS]
    within = [_is_within(call) for _, call in operations]
    if not within or not all(within):
        return None
    scopes = [function] if function.owner is None else list(function.owner.methods.values())
    for scope in scopes:
        for site in job.project.walk(scope).sites:
            full = canonical(site.node.func, scope.script)
            if full.startswith("torch.utils.data.") and full.rpartition(".")[2] in _DATA:
                given = argument(site.node, "dataset", 0)
                by = None if given is None else _divides(given, scope, job)
                if by is not None:
                    return by
    return None


def _is_within(call: ast.Call) -> bool:
    group = argument(call, "group", 2)
    return group is not None and constant(group) is not None and last(group) != "WORLD"


def _divides(node: ast.expr, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the part of what makes a value that says in which of several groups the rank is: `rank // 4`."""
    left: list[tuple[ast.expr, Function, int]] = [(node, function, 0)]
    seen: set[int] = set()
    while left:
        top, scope, depth = left.pop()
        if id(top) in seen:
            continue
        seen.add(id(top))
        for part in _counting(top):
            if _is_group_number(part, scope, job):
                return part
            if depth < _DEPTH and isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                left += [(value, place, depth + 1) for value, place in _behind(part, scope, job)]
    return None


def _counting(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression but for those that only move it to a device or say on which it is."""
    stack: list[ast.AST] = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, ast.Call) and last(here.func) in _MOVES:
            stack += [here.func.value] if isinstance(here.func, ast.Attribute) else []
            continue
        if isinstance(here, ast.keyword) and _ONLY_PLACE.search(here.arg or ""):
            continue
        if isinstance(here, ast.Lambda):
            continue
        if isinstance(here, ast.expr):
            yield here
        stack += list(ast.iter_child_nodes(here))


def _behind(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext) -> list[tuple[ast.expr, Function]]:
    if _ONLY_PLACE.search(last(node)) or is_rank(node):
        return []
    if isinstance(node, ast.Name):
        scope, made = job.project.binding(node.id, function, node.lineno)
        if made:
            return [(made[-1].value, scope)]
    return job.project.stands_for(node, function)


def _is_group_number(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether an expression is what is left of the rank's number by the size of a group, or whether it is in a list."""

    def lookup(part: ast.expr) -> ast.expr | None:
        return job.project.single(part, function)

    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        right = lookup(node.right) or node.right
        place = any(_ONLY_PLACE.search(word) for word in words(node) | words(right))
        return not place and is_rank(node.left, lookup) and "local" not in last(node.left).lower()
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare):
        test = node.test
        several = isinstance(test.ops[0], (ast.In, ast.NotIn, ast.Lt, ast.GtE)) and constant(test.comparators[0]) != 1
        return several and is_rank(test.left, lookup)
    return False


RULES = (ScriptRule(ids=(_WHOLE,), check=whole_job),)
