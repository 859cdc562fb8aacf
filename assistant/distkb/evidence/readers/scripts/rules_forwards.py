"""Forwards of wrapped models: two before one backward, past the root of a sharded one; models over all GPUs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import makers
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_model import wrappings

_AGAIN, _INNER, _SPREAD = "script.forward-twice-with-buffers", "script.forward-past-root", "script.map-in-every-process"
_NORMS = frozenset({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d"})
_NETS = ("torchvision.models.resnet", "torchvision.models.densenet", "torchvision.models.mobilenet",
         "torchvision.models.efficientnet", "torchvision.models.regnet", "torchvision.models.wide_resnet",
         "torchvision.models.resnext", "torchvision.models.shufflenet")  # fmt: skip
"""Models of torchvision with BatchNorm in them."""
_QUIET = frozenset({"no_grad", "inference_mode", "summon_full_params", "set_grad_enabled"})
_MAPS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
_DEPTH = 3


def twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the second forward of a DDP model with BatchNorm before the backward of the first."""
    told = [keyword(call, "broadcast_buffers") for _, call in wrappings(job)]
    if not told or any(told) or job.mentions("convert_sync_batchnorm", "SyncBatchNorm", "broadcast_buffers"):
        return
    for function in job.project.functions:
        first: dict[str, Site] = {}
        for site in job.project.walk(function).sites:
            name = dotted(site.node.func)
            if last(site.node.func) == "backward":
                first.clear()
            if kinds.kind_of(site.node.func, function, job.project, site.node.lineno) != kinds.DDP or not name:
                continue
            if site.where.entered & _QUIET:
                continue
            before = first.setdefault(name, site)
            together = before.where.tests == site.where.tests and before.where.loops == site.where.loops
            if before is site or not together or _in_other_arm(before, site, function):
                continue
            if not _comes_to_backward(site, function, job):
                continue
            model = kinds.model_class(site.node.func, function, job.project)
            if has_norm(model, job) or _is_net(name, function, job):
                values = {"call": shown(site.node), "first_line": str(before.node.lineno), "model": name}
                yield hit(_AGAIN, function, site.node, **values)
                break


def _in_other_arm(one: Site, other: Site, function: Function) -> bool:
    """Whether two calls stand in the two arms of one test, so that a rank makes one of them."""
    for test in (node for node in nodes(function.node) if isinstance(node, ast.If) and node.orelse):
        lines = [range(arm[0].lineno, (arm[-1].end_lineno or 0) + 1) for arm in (test.body, test.orelse)]
        if any(one.node.lineno in lines[i] and other.node.lineno in lines[1 - i] for i in (0, 1)):
            return True
    return False


def _comes_to_backward(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a backward follows in the same loop, or where the function that gives back a loss is called."""
    places = [(function, site)]
    if job.project.walk(function).returns and not site.where.loops:
        places += job.project.callers(function)
    return any(
        last(one.node.func) == "backward"
        and one.node.lineno > called.node.lineno
        and one.where.loops == called.where.loops
        for caller, called in places
        for one in job.project.walk(caller).sites
    )


def has_norm(model: Class | None, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a class of the project makes BatchNorm, itself or in the classes that it makes."""
    if model is None or depth > _DEPTH:
        return False
    for node in nodes(model.node):
        if isinstance(node, ast.Call):
            if last(node.func) in _NORMS:
                return True
            helper = job.project.modules[id(model.script)].inner.get(last(node.func))
            if helper is not None and any(last(part) in _NORMS for part in nodes(helper.node)):
                return True
            inner = job.project.class_named(node.func, model.script)
            if inner is not None and inner is not model and has_norm(inner, job, depth + 1):
                return True
    return False


def _is_net(name: str, function: Function, job: ScriptContext) -> bool:
    """Whether a name holds the wrapper of a model of torchvision with BatchNorm in it."""
    made = [one.value for one in job.project.walk(function).assigned(name)]
    for value in made:
        for part in nodes(value):
            inside = job.project.single(part, function) if isinstance(part, ast.Name) else part
            for call in nodes(inside) if inside is not None else ():
                if isinstance(call, ast.Call) and canonical(call.func, function.script).startswith(_NETS):
                    return True
    return False


def past_root(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards that leave out the root of a sharded model: `model.module(x)`, `model.forward(x)`."""
    declared = job.project.declared
    is_spread = declared.has_sharded or declared.has_sharding_plugin
    for function, site in job.sites() if is_spread else ():
        named = site.node.func
        if _is_unwrapped(named, site, function, job):
            yield hit(_INNER, function, site.node, call=shown(named), model=shown(named))
        if not isinstance(named, ast.Attribute) or named.attr not in {"module", "forward"}:
            continue
        if "summon_full_params" in site.where.entered:
            continue
        kind = kinds.kind_of(named.value, function, job.project, site.node.lineno)
        if kind == (kinds.FSDP1 if named.attr == "module" else kinds.FSDP2):
            yield hit(_INNER, function, site.node, call=shown(named), model=shown(named.value))


def _is_unwrapped(named: ast.expr, site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a forward is that of the model inside of one that a plugin of Accelerate's shards."""
    declared = job.project.declared
    in_place = declared.spread in {"fsdp2", "zero3"} or declared.has_third_stage or job.mentions("fsdp_version")
    if in_place or not declared.has_sharding_plugin or not isinstance(named, ast.Name):
        return False
    if "summon_full_params" in site.where.entered:
        return False
    made = job.project.walk(function).assigned(named.id, before=site.node.lineno)
    return bool(made) and isinstance(made[-1].value, ast.Call) and last(made[-1].value.func) == "unwrap_model"


def mapped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that are laid out over all GPUs in every process and then wrapped for several of them."""
    for function, call in job.calls() if job.mentions("device_map") else ():
        wraps = canonical(call.func, function.script).endswith("DistributedDataParallel")
        prepares = (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "prepare"
            and (kinds.kind_of(call.func.value, function, job.project, call.lineno) == kinds.ACCELERATOR)
        )
        trains = last(call.func).endswith("Trainer") and job.mentions("ddp_find_unused_parameters", "local_rank")
        model = keyword(call, "model")
        for given in (*call.args, *([model] if model else [])) if wraps or prepares or trains else ():
            loaded = _loaded(given, function, job)
            chosen = _map_of(loaded[0], loaded[1], job) if loaded is not None else None
            if chosen is not None and constant(chosen) in _MAPS:
                values = {"call": shown(call.func), "map": str(constant(chosen)), "model": shown(given)}
                where, node = (loaded[1], loaded[0]) if loaded is not None else (function, call)
                yield hit(_SPREAD, where, node, **values, wrap_line=str(call.lineno))


def _loaded(node: ast.expr, function: Function, job: ScriptContext) -> tuple[ast.Call, Function] | None:
    """Return the `from_pretrained` that made a model, also below adapters and in helpers."""
    for made in makers(node, function, job.project, node.lineno):
        call, scope = made.call, made.function
        if last(call.func) in _ADAPTS and call.args:
            return _loaded(call.args[0], scope, job)
        if last(call.func) == "from_pretrained":
            return call, scope
    return None


_ADAPTS = frozenset({"get_peft_model", "prepare_model_for_kbit_training"})


def _map_of(call: ast.Call, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the `device_map` of a call, be it written there or among the settings that it is given as `**`."""
    told = keyword(call, "device_map")
    for word in call.keywords if told is None else ():
        if word.arg is None:
            for value in _settings(word.value, function, job):
                told = told or _entry(value)
    return told


def _settings(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[ast.expr]:
    """Yield what a dictionary stands for: one that is written out, or the keywords with which an object was made."""
    value = job.project.single(node, function)
    if value is not None and dotted(value) == "":
        yield value
        return
    named = dotted(value) if value is not None else dotted(node)
    for method in function.owner.methods.values() if function.owner is not None else (function,):
        taken = None if isinstance(method.node, ast.Module) else method.node.args.kwarg
        if taken is not None and taken.arg == named:
            for _, site in job.project.callers(method):
                yield site.node


def _entry(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call):
        return keyword(node, "device_map")
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    return next((value for key, value in pairs if constant(key) == "device_map"), None)


RULES = (
    ScriptRule(ids=(_AGAIN,), check=twice),
    ScriptRule(ids=(_INNER,), check=past_root),
    ScriptRule(ids=(_SPREAD,), check=mapped),
)
