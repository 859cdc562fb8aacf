"""BatchNorm under DDP: few samples, statistics of each rank's own, and SyncBatchNorm, which every rank has to run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, made_by, setting
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_forwards import has_norm
from distkb.evidence.readers.scripts.rules_model import given_to_ddp, wrappings
from distkb.evidence.readers.scripts.rules_unused import models

_OWN, _FEW = "script.statistics-of-each-rank", "script.norm-of-few-samples"
_LONELY, _SKIPPED, _CPU = "script.synced-norm-on-some-ranks", "script.synced-norm-skipped", "script.synced-norm-on-cpu"
_SYNCED = ("SyncBatchNorm", "convert_sync_batchnorm", "sync_batchnorm", "convert_syncbn_model")
_NETS = re.compile(r"(?i)^(tv_|tf_)?(wide_)?(resne|densenet|mobilenet|efficientnet|regnet|shufflenet|inception"
                   r"|googlenet|mnasnet|deeplab|fcn_)|vgg\d+_bn")  # fmt: skip
"""Names of models of torchvision and timm with BatchNorm in them."""
_FEW_SAMPLES = 2
_MODES = frozenset({"eval", "no_grad_eval"})


def _has_norms(job: ScriptContext) -> bool:
    """Whether a model that DDP wraps makes BatchNorm, or is one of torchvision or timm with it."""
    if any(has_norm(model, job) for model in models(job)):
        return True
    for function, given in given_to_ddp(job):
        for full, call, _ in made_by(given, function, job.project):
            chosen = constant(positional(call, 0))
            name = full.rpartition(".")[2]
            named = chosen if name in {"create_model", "get_model"} and isinstance(chosen, str) else name
            if (full.startswith("torchvision.models.") or named is chosen) and _NETS.match(named):
                return True
    return False


def own_statistics(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield wrappings that leave each rank its own running statistics of BatchNorm, where one evaluates or saves."""
    told_so = job.mentions("broadcast_buffers") and job.mentions("eval", "save", "state_dict")
    if job.mentions(*_SYNCED) or not told_so or not _has_norms(job):
        return
    for function, call in wrappings(job):
        told = setting(call, "broadcast_buffers", function, job.project)
        if told is not None and constant(told) is False:
            yield hit(_OWN, function, call, call=f"{shown(call.func)}(…)")


def few_samples(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield training loaders of a few samples a batch where DDP trains a model with BatchNorm that is not synced."""
    loads = job.mentions("DataLoader") and not job.mentions(*_SYNCED, "FrozenBatchNorm2d")
    if not loads or not _has_norms(job):
        return
    for function, call in job.calls():
        if last(call.func) != "DataLoader":
            continue
        size = argument(call, "batch_size", 1)
        trains = keyword(call, "shuffle") is not None or keyword(call, "sampler") is not None
        held_out = any(re.search(r"(?i)val|test|eval", word) for word in words(call) | {function.name})
        if size is None or not trains or held_out or constant(keyword(call, "shuffle")) is False:
            continue
        sizes = [value for value in literals(size, function, job.project) if isinstance(value, int)]
        if sizes and max(sizes) <= _FEW_SAMPLES:
            yield hit(_FEW, function, call, size=str(max(sizes)))


def on_some_ranks(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards of the model inside of DDP on some ranks only, with its SyncBatchNorm in training mode."""
    for function in job.project.functions if job.mentions(*_SYNCED) else ():
        if _MODES & words(function.node):
            continue
        for site in job.project.walk(function).sites:
            named = site.node.func
            is_inner = isinstance(named, ast.Attribute) and named.attr == "module"
            owner = named.value if isinstance(named, ast.Attribute) and is_inner else named
            kind = kinds.kind_of(owner, function, job.project, site.node.lineno)
            if not is_inner or kind != kinds.DDP:
                continue
            test = _lets_in(site.where.guard, function, job)
            if test is not None:
                yield hit(_LONELY, function, site.node, call=shown(named), test=shown(test))
                break


def _lets_in(guard: object, function: Function, job: ScriptContext) -> ast.AST | None:
    """Return the test by which only some ranks come to a function's place, or to all calls of the function."""
    here = getattr(guard, "node", None)
    if here is not None:
        return here  # type: ignore[no-any-return]
    callers = job.project.callers(function)
    guards = [site.where.guard for _, site in callers]
    first = guards[0] if guards else None
    return first.node if first is not None and all(one is not None for one in guards) else None


def skipped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers with SyncBatchNorm in them that a forward runs only where the rank's own batch says so."""
    for function in job.project.functions if job.mentions("SyncBatchNorm") else ():
        owner = function.owner
        if owner is None or not function.name.endswith(".forward"):
            continue
        made = job.project.attribute_values(owner)
        synced = {f"self.{name}" for name, values in made.items() for v in values
                  if any(last(part) == "SyncBatchNorm" for part in nodes(v))}  # fmt: skip
        for site in job.project.walk(function).sites:
            if canonical(site.node.func, function.script) not in synced:
                continue
            for test in site.where.tests:
                if any(reason.origin == "batch" for reason in job.origins.of_amounts(test, function)):
                    yield hit(_SKIPPED, function, site.node, layer=shown(site.node.func), test=shown(test))
                    break


def on_cpu(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield SyncBatchNorm in a project whose only group is Gloo's and that knows no GPU."""
    if not job.mentions("convert_sync_batchnorm", "SyncBatchNorm") or job.mentions("cuda", "nccl", "is_available"):
        return
    for function, call in job.calls() if job.mentions("gloo") else ():
        if last(call.func) in {"convert_sync_batchnorm", "SyncBatchNorm"}:
            yield hit(_CPU, function, call, call=shown(call.func))
            return


RULES = (
    ScriptRule(ids=(_OWN,), check=own_statistics),
    ScriptRule(ids=(_FEW,), check=few_samples),
    ScriptRule(ids=(_LONELY,), check=on_some_ranks),
    ScriptRule(ids=(_SKIPPED,), check=skipped),
    ScriptRule(ids=(_CPU,), check=on_cpu),
)
