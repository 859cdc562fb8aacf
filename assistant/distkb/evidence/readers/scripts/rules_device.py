"""The GPU's number taken from the global rank, and the global rank from the number within the node."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, shown, walk
from distkb.evidence.readers.scripts.plain import Wanted, plainly
from distkb.evidence.readers.scripts.ranks import environment

_ID, _RANK = "script.device-from-global-rank", "script.rank-from-local"
_GLOBAL = Wanted(
    variables=frozenset({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}),
    calls=frozenset({"torch.distributed.get_rank", "deepspeed.comm.get_rank"}),
)
_SETTERS = frozenset({"torch.cuda.set_device", "torch.xpu.set_device", "torch.accelerator.set_device_index"})
_WRAPPERS = frozenset(
    {"torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel"}
)
_INIT = "torch.distributed.init_process_group"
_LOOPBACK = re.compile(r"(?:tcp://)?(?:127\.0\.0\.1|localhost|\[?::1\]?)(?::|$)")
_FORMS = ("cuda:%d", "cuda:%s", "cuda:%i")
_LOCAL = Wanted(variables=frozenset({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}))


def device_from_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `set_device`, `torch.device`, `.to` and `device_ids` that are given the global rank as it is.

    On one machine global and local rank are the same number, so this shows with the second one only.
    """
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            number = _index(site.node, function)
            source = None if number is None else plainly(number, function, job, _GLOBAL)
            if number is not None and source is not None:
                yield hit(_ID, function, site.node, call=shown(site.node), source=source)
                break


def _index(call: ast.Call, function: Function) -> ast.expr | None:
    """Return the expression that gives the number of the GPU."""
    full, first = canonical(call.func, function.script), positional(call, 0)
    if full == "torch.device":
        second = positional(call, 1)
        return keyword(call, "index") or second or (None if first is None else _numbered(first))
    if full in _WRAPPERS:
        ids = keyword(call, "device_ids")
        return ids.elts[0] if isinstance(ids, (ast.List, ast.Tuple)) and len(ids.elts) == 1 else None
    if full in _SETTERS or (isinstance(call.func, ast.Attribute) and call.func.attr in {"to", "cuda"}):
        device = keyword(call, "device") or first
        return None if device is None else _numbered(device) or device
    return None


def _numbered(node: ast.expr) -> ast.expr | None:
    """Return `rank` of `f"cuda:{rank}"`, `"cuda:" + str(rank)`, `"cuda:%d" % rank` and `"cuda:{}".format(rank)`."""
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        start, value = node.values
        return value.value if constant(start) == "cuda:" and isinstance(value, ast.FormattedValue) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        form = constant(node.left)
        return node.right if form == "cuda:" or (isinstance(node.op, ast.Mod) and form in _FORMS) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return node.args[0] if node.func.attr == "format" and constant(node.func.value) == "cuda:{}" else None
    return None


def rank_from_local(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield RANK, or the rank of the default group, that is given the number which counts on every node from 0."""
    found = [
        hit(_RANK, function, node, source=source)
        for function in job.project.functions
        for node in walk(function.node)
        for value in _ranks_given(node, function)
        if isinstance(node, (ast.Call, ast.Assign)) and (source := plainly(value, function, job, _LOCAL)) is not None
    ]
    # Where the ranks meet at this machine's own address there is no other one, and both numbers are the same.
    if found and not _is_one_machine(job):
        yield from found


def _is_one_machine(job: ScriptContext) -> bool:
    """Whether the code itself says that all ranks meet at the loopback address."""
    for function in job.project.functions:
        for node in walk(function.node):
            addresses = list(_set_to(node, "MASTER_ADDR", defaults=False))
            if isinstance(node, ast.Call) and canonical(node.func, function.script) == _INIT:
                addresses += filter(None, [keyword(node, "init_method")])
            if any(_LOOPBACK.match(str(constant(value))) for value in addresses):
                return True
    return False


def _ranks_given(node: ast.AST, function: Function) -> Iterator[ast.expr]:
    """Yield what a statement or call makes the global rank."""
    yield from _set_to(node, "RANK", defaults=True)
    if isinstance(node, ast.Call) and canonical(node.func, function.script) == _INIT:
        yield from filter(None, [keyword(node, "rank")])


def _set_to(node: ast.AST, name: str, *, defaults: bool) -> Iterator[ast.expr]:
    """Yield what a statement or call sets a variable of the environment to; `defaults`: or where it has none."""
    if isinstance(node, ast.Assign) and environment(node.targets[0]) == name:
        yield node.value
    if not isinstance(node, ast.Call):
        return
    called = dotted(node.func)
    sets = ("environ.setdefault", "os.putenv") if defaults else ("os.putenv",)
    if called.endswith(sets) and len(node.args) > 1 and constant(node.args[0]) == name:
        yield node.args[1]
    if called.endswith("environ.update"):
        tables = [one for one in node.args if isinstance(one, ast.Dict)]
        yield from (v for one in tables for k, v in zip(one.keys, one.values, strict=True) if constant(k) == name)
        yield from filter(None, [keyword(node, name)])


RULES = (
    ScriptRule(ids=(_ID,), check=device_from_rank),
    ScriptRule(ids=(_RANK,), check=rank_from_local),
)
