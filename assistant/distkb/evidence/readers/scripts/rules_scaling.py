"""Training in fp16: updates and clipping that go past the loss scaler, and fp16 without one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_updates import is_scaled

_PAST, _NONE, _CLIPPED = "script.step-past-scaler", "script.fp16-without-scaler", "script.clipped-past-accelerator"
_SCALED = ("GradScaler", "ShardedGradScaler", "Accelerator", "Fabric", "deepspeed", "Trainer", "TrainingArguments",
           "scaler", "loss_scale")  # fmt: skip
_UNSCALES = ("unscale_", "unscale_gradients")


def step_past(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield updates by the optimizer itself of gradients that a loss scaler has multiplied."""
    if job.mentions(*_UNSCALES):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        if not any(last(site.node.func) == "backward" and is_scaled(site.node) for site in sites):
            continue
        steps = [site for site in sites if last(site.node.func) == "step" and isinstance(site.node.func, ast.Attribute)]
        if any(site.node.args for site in steps):
            continue
        for site in steps:
            owner = receiver(site.node) or site.node
            if kinds.kind_of(owner, function, job.project, site.node.lineno) == kinds.OPTIMIZER:
                yield hit(_PAST, function, site.node, call=shown(site.node.func), optimizer=shown(owner))
                break


def without_scaler(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield trainings that compute in fp16 by autocast, where nothing scales the loss."""
    if job.mentions(*_SCALED):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        if not any(last(site.node.func) == "backward" for site in sites):
            continue
        for site in sites:
            if _is_half(site.node, function, job) and any(site.node is block for block in _entered(function)):
                yield hit(_NONE, function, site.node, call=shown(site.node))
                break


def _entered(function: Function) -> Iterator[ast.expr]:
    for node in nodes(function.node):
        if isinstance(node, ast.With):
            yield from (item.context_expr for item in node.items)


def _is_half(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call switches autocast to fp16, which it is on a GPU where nothing else is said."""
    full = canonical(call.func, function.script)
    if not full.startswith("torch.") or not full.endswith("autocast") or keyword(call, "enabled") is not None:
        return False
    of_cuda = full == "torch.cuda.amp.autocast"
    told = keyword(call, "dtype") or (call.args[1] if len(call.args) > 1 and not of_cuda else None)
    device = argument(call, "device_type", 0)
    if told is None:
        return of_cuda or constant(device) == "cuda"
    meant = job.project.single(told, function) or told
    return last(meant) in {"float16", "half"}


def clipped_past(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield torch's own clipping of gradients that Accelerate's loss scaler has multiplied."""
    if job.mentions(*_UNSCALES) or not any(_is_fp16(call) for _, call in job.calls()):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        backward = [s.node.func for s in sites if last(s.node.func) == "backward" and s.node.args]
        if not any(_is_accelerator(func, function, job) for func in backward):
            continue
        for site in sites:
            full = canonical(site.node.func, function.script)
            if full.startswith("torch.nn.utils.") and last(site.node.func).startswith("clip_grad_"):
                yield hit(_CLIPPED, function, site.node, call=shown(site.node.func))
                break


def _is_fp16(call: ast.Call) -> bool:
    return last(call.func) == "Accelerator" and constant(keyword(call, "mixed_precision")) == "fp16"


def _is_accelerator(func: ast.expr, function: Function, job: ScriptContext) -> bool:
    owner = func.value if isinstance(func, ast.Attribute) else func
    kind = kinds.kind_of(owner, function, job.project)
    return kind == kinds.ACCELERATOR or dotted(owner).rpartition(".")[2] == "accelerator"


RULES = (
    ScriptRule(ids=(_PAST,), check=step_past),
    ScriptRule(ids=(_NONE,), check=without_scaler),
    ScriptRule(ids=(_CLIPPED,), check=clipped_past),
)
