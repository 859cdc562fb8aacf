"""What makes every step slow: debugging left on, the cache emptied, data decoded by the rank itself, needless sums."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, made_by
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_ANOMALY, _EMPTIED = "script.anomaly-left-on", "script.cache-emptied-each-step"
_DECODED, _SUMMED = "script.decoded-by-rank", "script.summed-each-micro-batch"
_EVALUATION = re.compile(r"(?i)val|test|eval|dev|infer|predict|query|gallery")
_DECODES = frozenset({
    "read_video", "read_image", "decode_image", "decode_jpeg", "imread", "imdecode", "VideoCapture", "VideoReader",
    "VideoDecoder", "dcmread",
})  # fmt: skip
_OPENS = frozenset({"PIL.Image.open", "torchaudio.load", "soundfile.read", "librosa.load", "librosa.core.load"})
_FOLDERS = frozenset({"ImageFolder", "ImageNet", "CocoDetection", "Kinetics", "UCF101", "HMDB51", "VOCSegmentation",
                      "VOCDetection", "Places365", "INaturalist", "Cityscapes"})  # fmt: skip
"""Data sets of torchvision that decode a file for each sample."""
_OTHERS = ("no_sync", "require_backward_grad_sync", "Accelerator", "Fabric", "LightningModule", "deepspeed", "Trainer",
           "fully_shard", "FullyShardedDataParallel", "set_requires_gradient_sync")  # fmt: skip
_DEPTH = 2


def anomaly(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield anomaly detection that every run switches on, whatever it is told."""
    for function, site in job.sites() if job.is_parallel else ():
        call = site.node
        full = canonical(call.func, function.script)
        given = keyword(call, "detect_anomaly") if last(call.func) == "Trainer" else None
        if full.endswith("autograd.set_detect_anomaly"):
            given = next(iter(call.args), keyword(call, "mode"))
        found = literals(given, function, job.project) if given is not None else []
        block = full.endswith("autograd.detect_anomaly") and bool(site.where.loops)
        if (block or (found and all(one is True for one in found))) and not site.where.tests:
            yield hit(_ANOMALY, function, call, call=f"{shown(call.func)}(…)")


def emptied(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls that give the cached GPU memory back in every step of the training."""
    for function, site in job.sites() if job.is_parallel else ():
        if last(site.node.func) != "empty_cache":
            continue
        loop = _step_of(function, site, job)
        if loop is not None and not any(_may_skip(part, site.node) for part in nodes(loop)):
            yield hit(_EMPTIED, function, site.node, call=shown(site.node))


def _step_of(function: Function, site: Site, job: ScriptContext) -> ast.AST | None:
    """Return the innermost loop around a call, or the function that a loop calls, where a backward is run in it."""
    sites = job.project.walk(function).sites
    if site.where.loops:
        loop = site.where.loops[-1]
        inner = {id(part) for part in nodes(loop)}
        run = (one for one in sites if id(one.node) in inner)
        trains = any(_trains(one.node, function, job) and one.where.loops[-1:] == (loop,) for one in run)
        return loop if trains else None
    looped = any(one.where.loops for _, one in job.project.callers(function))
    return function.node if looped and any(last(one.node.func) == "backward" for one in sites) else None


def _trains(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    return last(call.func) == "backward" or any(
        last(one.node.func) == "backward" and not one.where.loops for _, one in job.project.below(call, function)
    )


def _may_skip(node: ast.AST, call: ast.Call) -> bool:
    """Whether a test or a handler decides if a call is made."""
    return isinstance(node, (ast.If, ast.ExceptHandler)) and any(part is call for part in nodes(node))


def decoded(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loaders of training data without workers whose data set decodes a file for each sample."""
    for function, call in job.calls() if job.is_parallel else ():
        if not canonical(call.func, function.script).startswith("torch.utils.data.") or has_spread(call):
            continue
        workers = argument(call, "num_workers", 5)
        data = call.args[0] if call.args else keyword(call, "dataset")
        if last(call.func) != "DataLoader" or data is None or not (workers is None or constant(workers) == 0):
            continue
        names = [one.target for one in job.project.walk(function).assignments if one.value is call]
        said = {*words(call), *names, function.name.rpartition(".")[2]}
        reads = _reads(data, function, job)
        if reads is not None and not any(_EVALUATION.search(word) for word in said):
            yield hit(_DECODED, function, call, data=shown(data), reads=reads)


def _reads(data: ast.expr, function: Function, job: ScriptContext) -> str | None:
    """Return the call by which a data set decodes a sample."""
    owner = job.project.holds_class(data, function)
    getter = job.project.method(owner, "__getitem__") if owner is not None else None
    if getter is not None:
        return _decodes(getter, job, 0)
    names = [full for full, _, _ in made_by(data, function, job.project)]
    return next((last_of for full in names if (last_of := full.rpartition(".")[2]) in _FOLDERS), None)


def _decodes(function: Function, job: ScriptContext, depth: int) -> str | None:
    for site in job.project.walk(function).sites:
        full = canonical(site.node.func, function.script)
        if full in _OPENS or last(site.node.func) in _DECODES:
            return shown(site.node.func)
        target = job.project.target(site.node, function) if depth < _DEPTH else None
        found = _decodes(target, job, depth + 1) if target is not None and target is not function else None
        if found is not None:
            return found
    return None


def summed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield backwards of accumulated micro-batches under DDP, each of which sums the gradients of all ranks."""
    if not job.mentions("DistributedDataParallel") or job.mentions(*_OTHERS):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        updates = [one for one in sites if last(one.node.func) == "step" and one.where.loops]
        for site in (one for one in sites if last(one.node.func) == "backward" and one.where.loops):
            every = next((n for one in updates for n in _accumulated(site, one)), None)
            found = literals(every, function, job.project) if every is not None else []
            if every is not None and any(isinstance(one, int) and one > 1 for one in found):
                yield hit(_SUMMED, function, site.node, call=shown(site.node), count=shown(every))
                break


def _accumulated(backward: Site, update: Site) -> Iterator[ast.expr]:
    """Yield the number of backwards for one update: `(i + 1) % count == 0` before it, or `range(count)` around them."""
    loops = backward.where.loops
    if update.where.loops == loops:
        for test in update.where.tests:
            for part in nodes(test) if test not in backward.where.tests else ():
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
                    yield part.right
    over = loops[-1].iter if isinstance(loops[-1], ast.For) and update.where.loops == loops[:-1] else None
    if isinstance(over, ast.Call) and dotted(over.func) == "range" and len(over.args) == 1:
        yield over.args[0]


RULES = (
    ScriptRule(ids=(_ANOMALY,), check=anomaly),
    ScriptRule(ids=(_EMPTIED,), check=emptied),
    ScriptRule(ids=(_DECODED,), check=decoded),
    ScriptRule(ids=(_SUMMED,), check=summed),
)
