"""Wrapped and sharded models used as if they were plain: attributes, weights, states of the optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import maker
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, walk, words

_ATTRIBUTE, _WEIGHT = "script.attribute-of-wrapper", "script.weight-of-sharded"
_STATES = "script.optimizer-shard-of-one"
_SHARDED = frozenset({kinds.FSDP1, kinds.FSDP2})
OF_MODULES = frozenset({
    "T_destination", "add_module", "apply", "bfloat16", "broadcast_buffers", "buffers", "call_super_init",
    "children", "compile", "cpu", "cuda", "device", "device_ids", "dim", "double", "eval", "extra_repr",
    "find_unused_parameters", "float", "forward", "get_buffer", "get_extra_state", "get_parameter",
    "get_submodule", "gradient_as_bucket_view", "half", "ipu", "join", "load_state_dict", "logger",
    "mixed_precision", "module", "modules", "mtia", "named_buffers", "named_children", "named_modules",
    "named_parameters", "no_sync", "output_device", "parameters", "process_group", "reducer", "register_buffer",
    "register_comm_hook", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_module", "register_parameter", "requires_grad_",
    "set_extra_state", "set_submodule", "share_memory", "state_dict", "static_graph", "to", "to_empty", "train",
    "training", "type", "xpu", "zero_grad",
})  # fmt: skip
"""What `DistributedDataParallel` has of its own."""
_OTHER_WRAPPERS = ("deepspeed", "DeepSpeedPlugin", "FullyShardedDataParallelPlugin", "fully_shard", "megatron")
"""What says that Accelerate may wrap the model in something else than DDP."""
_WHOLE = ("summon_full_params", "full_tensor", "unshard", "register_fsdp_forward_method", "get_full_params")
_TAKES = frozenset(
    {"linear", "embedding", "matmul", "mm", "bmm", "einsum", "cross_entropy", "fused_linear_cross_entropy"}
)


def of_wrapper(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield attributes and methods of a project's model that are asked of the DDP wrapper, which has none of them."""
    for function in job.project.functions if job.mentions("DistributedDataParallel", "Accelerator") else ():
        told: set[str] = set()
        for node in walk(function.node):
            if not isinstance(node, ast.Attribute) or node.attr in OF_MODULES or node.attr in told:
                continue
            if isinstance(node.ctx, ast.Load) and _lacks(node, function, job):
                told.add(node.attr)
                yield hit(_ATTRIBUTE, function, node, asked=shown(node), model=shown(node.value), name=node.attr)


def _lacks(node: ast.Attribute, function: Function, job: ScriptContext) -> bool:
    wrapped = {kinds.DDP} if job.mentions(*_OTHER_WRAPPERS) else {kinds.DDP, kinds.PREPARED}
    if not dotted(node.value) or kinds.kind_of(node.value, function, job.project, node.lineno) not in wrapped:
        return False
    cls = kinds.model_class(node.value, function, job.project)
    if cls is None:
        return _is_foreign(node, function, job)
    if not _is_wrapped_before(dotted(node.value), function, job):
        return False
    return job.project.method(cls, node.attr) is not None or node.attr in job.project.attribute_values(cls)


_OF_TRANSFORMERS = frozenset({"generate", "config", "save_pretrained", "generation_config", "push_to_hub",
                              "resize_token_embeddings", "get_input_embeddings", "get_output_embeddings"})  # fmt: skip


def _is_foreign(node: ast.Attribute, function: Function, job: ScriptContext) -> bool:
    """Whether an attribute is one of a model that was made elsewhere: DDP has it neither by itself nor by a setting."""
    if node.attr.startswith("_") or "hasattr" in words(function.node) or node.attr in job.attributes_set:
        return False
    if not _is_wrapped_before(dotted(node.value), function, job):
        return False
    made = maker(node.value, function, job.project, node.lineno)
    if made is None or not (made.prepared or made.wrapped):
        return False
    loaded = last(made.call.func) == "from_pretrained"
    if loaded or made.prepared:
        return loaded and node.attr in _OF_TRANSFORMERS
    name = canonical(made.call.func, made.function.script)
    return name.rpartition(".")[2][:1].isupper() and not name.startswith("torch.")


def _is_wrapped_before(name: str, function: Function, job: ScriptContext) -> bool:
    """Whether an attribute of `self` is wrapped when a method of the same object runs; other names are."""
    if not name.startswith("self.") or function.owner is None:
        return True
    held = job.project.attribute_values(function.owner).get(name[5:], [])
    if held and all(isinstance(value, ast.Name) for value in held):
        return True  # it was wrapped before the object got it
    wraps = [m for m in function.owner.methods.values() if _wraps(name, m, job)]
    if any(method is function or method.name.endswith("__init__") for method in wraps):
        return True
    mine = job.project.callers(function)
    calls = [(caller, site) for method in wraps for caller, site in job.project.callers(method)]
    return any(
        caller.name.endswith("__init__")
        or any(other is caller and later.node.lineno > site.node.lineno for other, later in mine)
        for caller, site in calls
    )


def _wraps(name: str, method: Function, job: ScriptContext) -> bool:
    made = (one.value for one in job.project.walk(method).assigned(name))
    return any(
        kinds.kind_of(call, method, job.project, call.lineno) == kinds.DDP
        for call in made
        if isinstance(call, ast.Call)
        and not (canonical(call.func, method.script) in kinds.COMPILERS and name in map(dotted, call.args))
    )


def read_weight(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield weights of a sharded model that are computed with outside of its forward, where they are pieces."""
    if job.mentions(*_WHOLE):
        return
    for function, call in job.calls():
        if last(call.func) not in _TAKES and not _computes_with(call, function, job):
            continue
        for given in arguments(call):
            root = _root(given)
            if root is not None and kinds.kind_of(root, function, job.project, call.lineno) in _SHARDED:
                yield hit(_WEIGHT, function, call, weight=shown(given), call=shown(call.func))
                break


def _computes_with(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call runs a function of the project that hands something to a layer's computation."""
    target = job.project.target(call, function)
    if target is None or target.owner is not None:
        return False
    sites = job.project.walk(target).sites
    return any(last(site.node.func) in _TAKES | {"checkpoint"} for site in sites)


def _root(node: ast.expr) -> ast.expr | None:
    """Return `model` of `model.head.weight` and of `model.module.head.weight`."""
    if not isinstance(node, ast.Attribute) or node.attr not in {"weight", "bias"}:
        return None
    name = dotted(node)
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute) and dotted(inner.value) != "self":
        inner = inner.value
    return inner if name.count(".") - dotted(inner).count(".") >= 2 else None


def shard_of_one(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states of an optimizer over shards that one rank saves as they are: those of the other ranks are lost."""
    if not job.mentions("FullyShardedDataParallel", "fully_shard") or job.mentions(
        "optim_state_dict",
        "full_optim_state_dict",
        "get_optimizer_state_dict",
        "get_state_dict",
        "full_tensor",
        "ENGINE",
    ):
        return
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            func = site.node.func
            if site.where.side == "both" or site.where.guard is None or not isinstance(func, ast.Attribute):
                continue
            if func.attr != "state_dict" or "optim" not in " ".join(words(func.value)).lower():
                continue
            if kinds.kind_of(func.value, function, job.project, site.node.lineno) in {kinds.OPTIMIZER, ""}:
                test = shown(site.where.guard.node)
                yield hit(_STATES, function, site.node, optimizer=shown(func.value), test=test)
                break


RULES = (
    ScriptRule(ids=(_ATTRIBUTE,), check=of_wrapper),
    ScriptRule(ids=(_WEIGHT,), check=read_weight),
    ScriptRule(ids=(_STATES,), check=shard_of_one),
)
