"""Models under DDP: parts that the forward leaves out, forwards past the wrapper, parameters outside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.graphs import is_model
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes, targets_of

_DDP = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
_NO_WEIGHTS = ("Loss", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "Dropout", "Identity", "Flatten", "Pool")


def wrappings(job: ScriptContext) -> Iterator[tuple[Function, ast.Call]]:
    """Yield the calls of DistributedDataParallel."""
    return job.calls_of(*_DDP)


def given_to_ddp(job: ScriptContext) -> Iterator[tuple[Function, ast.expr]]:
    """Yield what is wrapped with DDP, be it by Accelerate's `prepare` or a Trainer of Transformers."""
    for function, call in wrappings(job):
        yield from ((function, argument) for argument in call.args[:1])
    for function, call in job.calls():
        owner = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "prepare" else None
        if owner is not None and kinds.kind_of(owner, function, job.project, call.lineno) == kinds.ACCELERATOR:
            walk = job.project.walk(function)
            made = ((argument, walk.assigned(dotted(argument), before=call.lineno)) for argument in call.args)
            yield from ((function, found[-1].value if found else argument) for argument, found in made)
        elif kinds.kind_of(call, function, job.project, call.lineno) == kinds.HF_TRAINER:
            model = argument(call, "model", 0)
            yield from [(function, model)] if model is not None else []


def _finds_unused(job: ScriptContext) -> bool:
    """Whether any wrapping looks for unused parameters, or may do so; Transformers' Trainer does unless it is told."""
    if any(has_spread(call) for _, call in wrappings(job)):
        return True
    sites = [call for function, call in job.calls()]
    told = [value for call in sites for name in _UNUSED if (value := keyword(call, name)) is not None]
    by_itself = not told and job.mentions("TrainingArguments")
    return by_itself or any(constant(value) is not False for value in told)


_UNUSED = ("find_unused_parameters", "ddp_find_unused_parameters")


def never_called(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers that a model under DDP makes and nothing in the project ever names again."""
    wrapped = {model.name for model in _wrapped(job)}
    if not wrapped or _finds_unused(job):
        return
    for model in _wrapped(job):
        init = model.methods.get("__init__")
        if init is None:
            continue
        for made in job.project.walk(init).assignments:
            name = made.target.removeprefix("self.")
            if made.target == name or not isinstance(made.value, ast.Call) or not _has_weights(made.value, init):
                continue
            if not _named_elsewhere(name, made.value, job):
                yield hit("script.layer-never-used", init, made.value, layer=name, model=model.name)


def _wrapped(job: ScriptContext) -> Iterator[Class]:
    """Yield the project's classes of which an object is given to DDP."""
    seen: set[int] = set()
    for function, model in given_to_ddp(job):
        value = _making(model, function, job)
        if isinstance(value, ast.Call):
            found = job.project.class_named(value.func, function.script)
            if found is not None and "forward" in found.methods and id(found) not in seen:
                seen.add(id(found))
                yield found


def _making(node: ast.expr, function: Function, job: ScriptContext) -> ast.Call | None:
    """Return the call that makes a model, behind names that are assigned once and behind `.to(…)` and `.cuda()`."""
    value: ast.expr | None = node
    for _ in range(6):
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in {"to", "cuda"}:
            value = value.func.value
        elif value is not None and dotted(value):
            value = job.project.single(value, function)
    return value if isinstance(value, ast.Call) else None


def _has_weights(call: ast.Call, function: Function) -> bool:
    full = canonical(call.func, function.script)
    return (
        full.startswith("torch.nn.")
        and full.count(".") == 2
        and not full.endswith(_NO_WEIGHTS)
        and not any(part in full for part in _NO_WEIGHTS)
    )


def _named_elsewhere(name: str, value: ast.Call, job: ScriptContext) -> bool:
    return any(_names(name, node, value) for script in job.project.scripts for node in script.nodes)


def _names(name: str, node: ast.AST, value: ast.Call) -> bool:
    """Whether a node reads the attribute, or goes through all of a model's."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and name in node.value
    return isinstance(node, ast.Call) and last(node.func) in _THROUGH and node is not value


_THROUGH = frozenset({"children", "named_children", "modules", "named_modules", "getattr"})


def left_out(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers that the forward of a model under DDP uses only where the batch, or a draw of its own, says so."""
    if _finds_unused(job):
        return
    for model in _wrapped(job):
        forward, init = model.methods.get("forward"), model.methods.get("__init__")
        if forward is None or init is None:
            continue
        layers = {a.target for a in job.project.walk(init).assignments if _is_layer(a.value, init, job)}
        everywhere = {dotted(s.node.func) for s in job.project.walk(forward).sites if s.where.certain}
        for site in job.project.walk(forward).sites:
            name = dotted(site.node.func)
            if name not in layers or name in everywhere:
                continue
            for test in site.where.decided:
                reason = next(
                    (r for r in job.origins.of_amounts(test, forward) if r.origin in {"batch", "chance"}), None
                )
                if reason is not None:
                    yield hit(
                        "script.layer-left-out", forward, site.node, layer=name, test=shown(test), model=model.name
                    )
                    break


def picked(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parts of a model under DDP that its forward, or Lightning's step, picks by what the batch says."""
    if job.mentions(*_LOOKS) or _told_unused(job) or not (list(given_to_ddp(job)) or _is_lightning_ddp(job)):
        return
    for function in job.project.functions:
        if function.owner is None or not is_model(function.owner) or not function.name.endswith(_RUNS):
            continue
        for site in job.project.walk(function).sites:
            named = site.node.func
            if not isinstance(named, ast.Subscript) or isinstance(named.slice, ast.Constant):
                continue
            if not isinstance(named.value, ast.Attribute) or not _holds_parts(named.value, function, job):
                continue
            if job.origins.depends([named.slice], function, "batch", "chance"):
                yield hit("script.part-picked-by-batch", function, site.node, part=shown(named), key=shown(named.slice))
                break


_RUNS = (".forward", ".training_step", ".compute_loss", ".loss")
_LOOKS = ("ddp_find_unused_parameters_true", "static_graph", "fully_shard", "FullyShardedDataParallel",
          "FullyShardedDataParallelPlugin", "TrainingArguments")  # fmt: skip


def _told_unused(job: ScriptContext) -> bool:
    """Whether anything says that parameters may stay unused."""
    told = [value for _, call in job.calls() for name in _UNUSED if (value := keyword(call, name)) is not None]
    return any(constant(value) is not False for value in told) or any(has_spread(call) for _, call in wrappings(job))


def _is_lightning_ddp(job: ScriptContext) -> bool:
    return job.mentions("LightningModule") and job.mentions("ddp", "ddp_spawn", "DDPStrategy", "ddp_notebook")


def _holds_parts(node: ast.Attribute, function: Function, job: ScriptContext) -> bool:
    held = job.project.held_under(node, function)
    return any(isinstance(value, ast.Call) and last(value.func) in {"ModuleDict", "ModuleList"} for value, _ in held)


def _is_layer(value: ast.expr, init: Function, job: ScriptContext) -> bool:
    if not isinstance(value, ast.Call):
        return False
    return _has_weights(value, init) or job.project.class_named(value.func, init.script) is not None


def past_the_wrapper(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards of the model itself, and not of the DDP around it, whose result is trained on."""
    for function in job.project.functions:
        walk = job.project.walk(function)
        if not walk.calls("backward"):
            continue
        bare = _bare_names(function, job)
        unwrapped = {a.target for a in walk.assignments if _unwraps(a.value, function, job, a.line)}
        trained = _trained(function, job)
        for site in walk.sites:
            call = site.node
            inner = isinstance(call.func, ast.Attribute) and call.func.attr == "module"
            owner = call.func.value if inner and isinstance(call.func, ast.Attribute) else call.func
            is_bare = dotted(call.func) in bare or (
                isinstance(call.func, ast.Attribute)
                and (dotted(call.func.value) in unwrapped or _unwraps(call.func.value, function, job, call.lineno))
                and _runs_itself(call.func.attr, job)
            )
            past = is_bare or (inner and kinds.kind_of(owner, function, job.project, call.lineno) == kinds.DDP)
            if not past and not _hands_on(call, unwrapped, function, job):
                continue
            if site.where.loops and not _without_gradients(site.where.blocks) and id(call) in trained:
                yield hit("script.forward-past-ddp", function, call, call=shown(call.func))


def _hands_on(call: ast.Call, unwrapped: set[str], function: Function, job: ScriptContext) -> bool:
    """Whether a call gives a model that was taken out of its wrapper to a function that runs it, or its methods."""
    target = job.project.target(call, function)
    if target is None or _without_gradients(tuple(getattr(target.node, "decorator_list", ()))):
        return False
    given = zip(target.parameters, call.args, strict=False)
    names = {name for name, value in given if dotted(value) in unwrapped or _unwraps(value, function, job, call.lineno)}
    run = (site.node.func for site in job.project.walk(target).sites if not _without_gradients(site.where.blocks))
    return any(
        dotted(one) in names
        or (isinstance(one, ast.Attribute) and dotted(one.value) in names and _runs_itself(one.attr, job))
        for one in run
    )


def _runs_itself(name: str, job: ScriptContext) -> bool:
    """Whether a method of this name, of any class of the project, calls the object or its layers."""
    methods = (f for f in job.project.functions if f.owner is not None and f.name.rpartition(".")[2] == name)
    return any(dotted(site.node.func).startswith("self") for f in methods for site in job.project.walk(f).sites)


def _unwraps(value: ast.expr, function: Function, job: ScriptContext, line: int) -> bool:
    """Whether a value is the model inside of a wrapper: `accelerator.unwrap_model(model)`, `model.module`."""
    if isinstance(value, ast.IfExp):
        return any(_unwraps(arm, function, job, line) for arm in kinds.arms(value))
    if isinstance(value, ast.Attribute):
        return value.attr == "module" and kinds.kind_of(value.value, function, job.project, line) == kinds.DDP
    return isinstance(value, ast.Call) and last(value.func) == "unwrap_model" and job.mentions("Accelerator")


def _bare_names(function: Function, job: ScriptContext) -> set[str]:
    """Return the names of models that are wrapped under another name in the same function."""
    found: set[str] = set()
    for made in job.project.walk(function).assignments:
        value = made.value
        if isinstance(value, ast.Call) and canonical(value.func, function.script) in _DDP and value.args:
            inside = dotted(value.args[0])
            if inside and inside != made.target and "." not in inside:
                found.add(inside)
    return found


def _trained(function: Function, job: ScriptContext) -> set[int]:
    """Return the calls whose results go into a backward, also through names."""
    walk = job.project.walk(function)
    wanted = {part for site in walk.sites if last(site.node.func) == "backward" for part in words(site.node)}
    found: set[int] = set()
    for _ in range(4):
        for made in walk.assignments:
            if made.target in wanted:
                wanted |= words(made.value)
                found |= {id(part) for part in nodes(made.value) if isinstance(part, ast.Call)}
    return found


def _without_gradients(blocks: tuple[ast.expr, ...]) -> bool:
    return any(last(getattr(block, "func", block)) in WITHOUT_GRADIENTS for block in blocks)


_OF_DDP = frozenset(
    {"module", "training", "require_backward_grad_sync", "require_forward_param_sync", "find_unused_parameters",
     "static_graph", "gradient_as_bucket_view", "broadcast_buffers"}
)  # fmt: skip
"""Attributes that DistributedDataParallel itself reads."""


_WRAPPED = frozenset({kinds.DDP, kinds.FSDP1, kinds.PREPARED})


def set_on_the_wrapper(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield values that are set on a DDP wrapper and read by the model inside it, which never sees them."""
    read = _read_by_models(job)
    for function in job.project.functions:
        for node in nodes(function.node):
            if not isinstance(node, (ast.Assign, ast.AugAssign)):
                continue
            for target in targets_of(node):
                if not isinstance(target, ast.Attribute) or target.attr in _OF_DDP or target.attr not in read:
                    continue
                if kinds.kind_of(target.value, function, job.project, node.lineno) in _WRAPPED:
                    yield hit("script.value-set-on-wrapper", function, node, target=shown(target), name=target.attr)


def _read_by_models(job: ScriptContext) -> frozenset[str]:
    """Return the names of attributes that a model of the project reads from itself."""
    found: set[str] = set()
    for model in {function.owner for function in job.project.functions if function.owner is not None}:
        for method in model.methods.values() if "forward" in model.methods else ():
            found |= {
                part.attr
                for part in nodes(method.node)
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and dotted(part.value) == "self"
            }
    return frozenset(found)


RULES = (
    ScriptRule(ids=("script.layer-never-used",), check=never_called),
    ScriptRule(ids=("script.layer-left-out",), check=left_out),
    ScriptRule(ids=("script.part-picked-by-batch",), check=picked),
    ScriptRule(ids=("script.forward-past-ddp",), check=past_the_wrapper),
    ScriptRule(ids=("script.value-set-on-wrapper",), check=set_on_the_wrapper),
)
