"""What the shards of FSDP2 do not take: optimizers that know no DTensor, and memory on the GPU under offload."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, constant, shown, words
from distkb.evidence.readers.scripts.rules_resumed import offloads

_FOREIGN, _PLACED = "script.optimizer-without-dtensor", "script.offloaded-made-on-gpu"


def foreign(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers of bitsandbytes that get the parameters of a model that `fully_shard` has divided."""
    for function, call in job.calls() if job.mentions("fully_shard") and job.mentions("bitsandbytes") else ():
        given = argument(call, "params", 0)
        model = given.func.value if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) else None
        if model is None or not canonical(call.func, function.script).startswith("bitsandbytes.optim."):
            continue
        if kinds.kind_of(model, function, job.project, call.lineno) == kinds.FSDP2:
            yield hit(_FOREIGN, function, call, call=shown(call.func), model=shown(model))


def placed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that get their memory on the GPU although `fully_shard` was told to keep the shards on the host."""
    policy = next((c for f, call in job.calls() for c in offloads(call, f, job)), None)
    for function, call in job.calls() if policy is not None else ():
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in {"to_empty", "cuda"} or policy is None:
            continue
        sharded = kinds.kind_of(func.value, function, job.project, call.lineno) == kinds.FSDP2
        if sharded and (func.attr == "cuda" or _is_gpu(call, function, job)):
            yield hit(_PLACED, function, call, call=shown(call), policy=shown(policy))
            return


def _is_gpu(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    given = argument(call, "device", 0)
    for value, _ in meanings(given, function, job.project):
        named = value.args[0] if isinstance(value, ast.Call) and value.args else value
        if str(constant(named)).startswith("cuda") or (isinstance(value, ast.Call) and "cuda" in words(value)):
            return True
    return False


RULES = (ScriptRule(ids=(_FOREIGN,), check=foreign), ScriptRule(ids=(_PLACED,), check=placed))
