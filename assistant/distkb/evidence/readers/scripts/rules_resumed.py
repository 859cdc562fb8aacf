"""Sharded models: loads of all ranks behind what each finds on its own node; offload to the host over NCCL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, made_by, meanings, setting
from distkb.evidence.readers.scripts.names import canonical, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_FOUND, _OFFLOAD = "script.resumed-by-own-disk", "script.offload-over-nccl"
_LOADS = ("set_model_state_dict", "set_optimizer_state_dict", "set_state_dict", "broadcast_object_list", "broadcast")
_LOOKS = frozenset({"exists", "is_file", "isfile", "is_dir", "isdir", "glob", "listdir", "iterdir"})
_OWN = re.compile(r"(?i)scratch|^/?tmp|/tmp|tmpdir|tmp_dir|gettempdir|nvme|node_local|local_(?:disk|dir|ssd|storage)")
"""Names of places that every node has for itself."""
_DEPTH = 4


def by_disk(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loads for all ranks that a rank makes where it finds a file in a place that its node has for itself."""
    for function, site in job.sites():
        need = _needs_all(site, function)
        for test in site.where.decided if need and site.where.side == "both" else ():
            look = next((one for one in _looks(test, function, job) if _is_own(one, function, job, 0)), None)
            if look is not None:
                values = {"call": shown(site.node.func), "test": shown(test), "test_line": str(test.lineno)}
                yield hit(_FOUND, function, site.node, **values)
                return


def _needs_all(site: Site, function: Function) -> bool:
    full = canonical(site.node.func, function.script)
    loads = full.startswith("torch.distributed.") and full.rpartition(".")[2] in _LOADS
    return loads or full in {"torch.distributed.checkpoint.load", "torch.distributed.checkpoint.load_state_dict"}


def _looks(test: ast.expr, function: Function, job: ScriptContext) -> Iterator[ast.Call]:
    """Yield the look-ups of files in a test, or in what its names were made of."""
    for part in nodes(test):
        if isinstance(part, ast.Call) and last(part.func) in _LOOKS:
            yield part
        elif isinstance(part, ast.Name) and not _is_sent(part.id, function, job):
            made = job.project.walk(function).assigned(part.id, before=test.lineno)
            for inner in nodes(made[-1].value) if made else ():
                if isinstance(inner, ast.Call) and last(inner.func) in _LOOKS:
                    yield inner


def _is_sent(name: str, function: Function, job: ScriptContext) -> bool:
    """Whether a collective of the function gets something, so that all ranks have the same afterwards."""
    sent = ("broadcast", "reduce", "gather")
    sites = job.project.walk(function).sites
    return any(one in last(s.node.func) and name in words(s.node) for s in sites for one in sent)


def _is_own(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether a path lies in a place that every node has for itself, as far as its names say so."""
    if any(_OWN.search(word) for word in words(node)):
        return True
    for part in nodes(node) if depth < _DEPTH else ():
        if isinstance(part, (ast.Name, ast.Attribute)):
            for value, scope in meanings(part, function, job.project):
                if value is not part and value is not node and _is_own(value, scope, job, depth + 1):
                    return True
    return False


def over_nccl(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives over the gradients of an FSDP2 model in host memory, where the group has NCCL alone."""
    if not _has_nccl_alone(job):
        return
    policy = next((c for f, call in job.calls() for c in offloads(call, f, job)), None)
    for function, call in job.calls() if policy is not None else ():
        owner = positional(call, 0)
        full = canonical(call.func, function.script)
        clips = full.startswith("torch.nn.utils.") and full.endswith((".clip_grad_norm_", ".get_total_norm"))
        model = owner.func.value if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) else None
        sharded = model is not None and kinds.kind_of(model, function, job.project, call.lineno) == kinds.FSDP2
        if policy is not None and clips and sharded:
            yield hit(_OFFLOAD, function, call, call=shown(call.func), policy=shown(policy))
            return


def _has_nccl_alone(job: ScriptContext) -> bool:
    """Whether every group that the scripts make by hand is told `nccl`."""
    told: list[object] = []
    for function, call in job.calls_of("torch.distributed.init_process_group"):
        given = argument(call, "backend", 0)
        told += literals(given, function, job.project) if given is not None else ["?"]
    return bool(told) and all(one == "nccl" for one in told)


def offloads(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[ast.Call]:
    """Yield the policy by which `fully_shard` is told to keep the shards in host memory."""
    if last(call.func) != "fully_shard":
        return
    given = setting(call, "offload_policy", function, job.project)
    for full, made, _ in made_by(given, function, job.project) if given is not None else ():
        if full.endswith(".CPUOffloadPolicy") and not has_spread(made):
            yield made


RULES = (
    ScriptRule(ids=(_FOUND,), check=by_disk),
    ScriptRule(ids=(_OFFLOAD,), check=over_nccl),
)
