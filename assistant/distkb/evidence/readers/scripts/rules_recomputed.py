"""Activation checkpointing that cannot do what the training asks of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.gradless import Gradless, inputs, is_checkpoint
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words

_SHARED, _GRAD, _ASLEEP = "script.reentrant-shared", "script.reentrant-with-grad", "script.checkpointing-in-eval"
_BLIND = "script.reentrant-without-grad"
_WRAPS = ("DistributedDataParallel", "Accelerator", "LightningModule")


def _reentrant(job: ScriptContext) -> Iterator[tuple[Function, ast.Call, tuple[ast.stmt, ...]]]:
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        if full.startswith("torch.utils.checkpoint") and constant(keyword(site.node, "use_reentrant")) is True:
            yield function, site.node, site.where.loops


def shared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield reentrant checkpoints of one block in a loop that runs it again and again, in a model under DDP."""
    if not job.mentions(*_WRAPS) or job.mentions("static_graph", "_set_static_graph"):
        return
    for function, call, loops in _reentrant(job):
        block = dotted(call.args[0]) if call.args else ""
        loop = loops[-1] if loops else None
        if block.startswith("self.") and isinstance(loop, ast.For) and not words(loop.target) & words(call.args[0]):
            yield hit(_SHARED, function, call, block=block)


def with_grad(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield gradients asked of `torch.autograd.grad`, or of some inputs only, through reentrant checkpoints."""
    if next(_reentrant(job), None) is None:
        return
    for function, call in job.calls():
        some = last(call.func) == "backward" and keyword(call, "inputs") is not None
        if canonical(call.func, function.script) == "torch.autograd.grad" or some:
            yield hit(_GRAD, function, call, call=shown(call.func))
            return


def in_eval(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield checkpointing that is switched on in a model that was loaded, or put, in eval mode and never leaves it."""
    if any(last(call.func) == "train" for _, call in job.calls()) or job.mentions("Trainer", "LightningModule"):
        return
    sites = list(job.sites())
    trains = any(last(site.node.func) == "backward" and site.where.loops for _, site in sites)
    asleep = any(last(site.node.func) == "eval" or _loads_model(site.node) for _, site in sites)
    for function, site in sites if trains and asleep else ():
        func = site.node.func
        if isinstance(func, ast.Attribute) and func.attr == "gradient_checkpointing_enable":
            yield hit(_ASLEEP, function, site.node, call=shown(func))
            return


def _loads_model(call: ast.Call) -> bool:
    """Whether a call loads a model, which then is in eval mode; configurations and tokenizers are loaded alike."""
    owner = receiver(call) or call.func
    return last(call.func) == "from_pretrained" and not last(owner).endswith(("Config", "Tokenizer", "Processor"))


def without_grad(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield reentrant checkpoints none of whose inputs carries a gradient, so that what they run is not trained."""
    if not any(last(call.func) == "backward" for _, call in job.calls()) and not job.mentions("Trainer"):
        return
    gradless = Gradless(job)
    for function, call in job.calls():
        if is_checkpoint(call, function) and gradless.is_blind(call, function):
            given = ", ".join(shown(one) for one in inputs(call))
            yield hit(_BLIND, function, call, call=shown(call.func), part=shown(call.args[0]), given=given)


RULES = (
    ScriptRule(ids=(_BLIND,), check=without_grad),
    ScriptRule(ids=(_SHARED,), check=shared),
    ScriptRule(ids=(_GRAD,), check=with_grad),
    ScriptRule(ids=(_ASLEEP,), check=in_eval),
)
