"""Calls that every rank has to make: collectives, and library calls that contain one."""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.metrics import computes_together
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, walk, words
from distkb.evidence.readers.scripts.project import Project

Category = Literal[
    "collective",
    "hidden",
    "group",
    "save",
    "accelerate-save",
    "state-dict",
    "forward",
    "ddp-forward",
    "engine-forward",
    "trainer-save",
]
"""What kind of call it is; `hidden` is a collective inside of a library's call that does not bear its name;
`accelerate-save`, `ddp-forward`, `engine-forward` and `trainer-save` need every rank only
when the model is sharded, or has buffers."""
TOGETHER = frozenset({"collective", "hidden"})
"""Calls that exchange values there and then."""

_DIST = ("torch.distributed.", "torch.distributed.distributed_c10d.", "deepspeed.comm.", "deepspeed.comm.comm.")
_OPERATIONS = frozenset(
    {
        "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce",
        "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "broadcast_object_list",
        "gather", "gather_object", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_tensor",
        "scatter", "scatter_object_list", "_all_gather_base", "_reduce_scatter_base", "all_gather_base",
        "reduce_scatter_base",
    }
)  # fmt: skip
_GROUPS = frozenset({"init_process_group", "new_group", "new_subgroups", "new_subgroups_by_enumeration"})
_MESHES = frozenset({"torch.distributed.device_mesh.init_device_mesh", "torch.distributed.init_device_mesh"})
"""Calls that make the groups of a mesh."""
_ACCELERATOR = {
    "wait_for_everyone": "collective",
    "gather": "collective",
    "gather_for_metrics": "collective",
    "reduce": "collective",
    "pad_across_processes": "collective",
    "check_trigger": "collective",
    "save_state": "accelerate-save",
    "save_model": "accelerate-save",
    "get_state_dict": "accelerate-save",
}
_ACCELERATE = frozenset(
    {"gather", "gather_object", "broadcast", "broadcast_object_list", "reduce", "wait_for_everyone"}
)
_FABRIC = {"barrier": "collective", "all_gather": "collective", "all_reduce": "collective", "broadcast": "collective",
           "save": "save"}  # fmt: skip
_ENGINE = {"save_checkpoint": "save", "load_checkpoint": "save", "save_16bit_model": "save", "save_fp16_model": "save",
           "backward": "forward", "step": "forward"}  # fmt: skip
_TRAINER = {"evaluate": "forward", "predict": "forward", "train": "forward"}
_LIGHTNING = {"fit": "forward", "validate": "forward", "test": "forward", "predict": "forward",
              "save_checkpoint": "save"}  # fmt: skip
_MODULE = frozenset({"all_gather"})
"""Of a LightningModule."""
_MODULES = frozenset({"self", "pl_module"})
"""What a LightningModule is called in its own methods and in callbacks."""
_LOGS = frozenset({"log", "log_dict"})
_STRATEGY = {"barrier": "hidden", "broadcast": "hidden", "reduce": "hidden", "all_gather": "hidden",
             "reduce_boolean_decision": "hidden"}  # fmt: skip
"""Of Lightning's `trainer.strategy`."""
_FSDP = frozenset({"summon_full_params", "optim_state_dict", "full_optim_state_dict", "sharded_optim_state_dict"})
_CHECKPOINT = frozenset({"save", "load", "async_save", "save_state_dict", "load_state_dict"})


class Implied(msgspec.Struct, frozen=True, eq=False):
    """A call that has to be made by every rank."""

    name: str
    """As one would say it: `dist.barrier`, `engine.save_checkpoint`."""
    category: Category
    node: ast.Call
    function: Function
    chain: tuple[str, ...] = ()
    """Functions of the project that lead to it, outermost first."""


def implied(call: ast.Call, function: Function, project: Project) -> Implied | None:
    """Return what a call needs from all ranks, judged by its own name and by what it is called on."""
    found = _by_name(call, function) or _by_receiver(call, function, project)
    return None if found is None else Implied(found[0], found[1], call, function)


_AGREE = frozenset(
    {
        "all_reduce", "broadcast", "broadcast_object_list", "all_gather", "all_gather_object", "all_gather_into_tensor",
        "gather_for_metrics", "reduce_boolean_decision", "reduce", "gather", "check_trigger", "compute",
    }
)  # fmt: skip


def makes_group(call: ast.Call, function: Function) -> bool:
    """Whether a call is torch's `new_group`."""
    module, _, final = canonical(call.func, function.script).rpartition(".")
    return f"{module}." in _DIST and final == "new_group"


def is_operation(call: ast.Call, function: Function) -> bool:
    """Whether a call is a collective of torch.distributed, of whichever group."""
    module, _, final = canonical(call.func, function.script).rpartition(".")
    return f"{module}." in _DIST and final in _OPERATIONS


def agrees(call: ast.Call, function: Function, project: Project) -> bool:
    """Whether every rank holds the same value after the call."""
    if last(call.func) not in _AGREE:
        return False
    found = implied(call, function, project)
    if found is not None:
        return found.category in TOGETHER and found.name not in {"dist.reduce", "dist.gather"}
    module = canonical(call.func, function.script).rpartition(".")[0]
    return f"{module}." in _DIST  # with a group of its own


def _by_name(call: ast.Call, function: Function) -> tuple[str, Category] | None:
    full = canonical(call.func, function.script)
    module, _, final = full.rpartition(".")
    found: tuple[str, Category] | None = None
    if f"{module}." in _DIST or module.startswith("torch.distributed.nn"):
        if final in _OPERATIONS and not _has_group(call, final):
            found = (f"dist.{final}", "collective")
        elif final in _GROUPS:
            found = (f"dist.{final}", "group")
    elif module.startswith("torch.distributed.checkpoint") and final in _CHECKPOINT:
        if constant(keyword(call, "no_dist")) is not True and keyword(call, "process_group") is None:
            found = (f"dcp.{final}", "save")
    elif module in {"accelerate.utils", "accelerate.utils.operations", "accelerate"} and final in _ACCELERATE:
        found = (f"accelerate.utils.{final}", "collective")
    elif full in _MESHES:
        found = (final, "group")
    elif full == "deepspeed.zero.GatheredParameters" and keyword(call, "enabled") is None:
        found = (full, "collective")
    elif final in _FSDP and module.endswith("FullyShardedDataParallel"):
        found = (f"FSDP.{final}", "collective" if final == "summon_full_params" else "state-dict")
    return found


def _has_group(call: ast.Call, operation: str) -> bool:
    """Whether the call names a group of its own: which ranks are in it is not to be seen here."""
    group = keyword(call, "group") or keyword(call, "process_group")
    if group is None:
        position = {"barrier": 0, "all_reduce": 2, "broadcast": 2, "all_gather": 2, "reduce": 3, "gather": 3,
                    "scatter": 3, "all_gather_object": 2, "broadcast_object_list": 2}.get(operation, 2)  # fmt: skip
        group = call.args[position] if len(call.args) > position else None
    return group is not None and constant(group) is not None and not dotted(group).endswith("WORLD")


def _by_receiver(call: ast.Call, function: Function, project: Project) -> tuple[str, Category] | None:
    if _is_full_state(call, function, project):
        return last(call.func), "state-dict"
    if not isinstance(call.func, ast.Attribute):
        return _metric(call, function, project) or _forward(call, call.func, function, project)
    return (
        _metric(call, function, project)
        or _method_table(call.func.attr, call.func.value, function, project, call)
        or _sharded_method(call.func, function, project, call)
        or _forward(call, call.func, function, project)
    )


def _metric(call: ast.Call, function: Function, project: Project) -> tuple[str, Category] | None:
    return (dotted(call.func) or last(call.func), "hidden") if computes_together(call, function, project) else None


def _sharded_method(
    named: ast.Attribute, function: Function, project: Project, call: ast.Call
) -> tuple[str, Category] | None:
    method, owner = named.attr, named.value
    if method in _OF_ALL_PARTS and _is_sharded_parameter(owner, function, project, call):
        return f"{dotted(owner) or '…'}.{method}", "collective"
    category: Category = "state-dict" if method in {"consolidate_state_dict", "state_dict"} else "collective"
    if method == "consolidate_state_dict" or (method == "full_tensor" and project.declared.has_sharded):
        return (f"{last(owner) or '…'}.{method}", category) if not call.args else None
    if method not in {"state_dict", "clip_grad_norm_"}:
        return None
    kind = kinds.kind_of(owner, function, project, call.lineno)
    return (f"{dotted(owner)}.{method}", category) if kind == kinds.FSDP1 else None


_OF_ALL_PARTS = frozenset({"std", "var", "median", "item", "tolist"})
"""Methods of a DTensor that need the parts of all ranks."""
PARAMETERS = frozenset({"parameters", "named_parameters"})


def _is_sharded_parameter(node: ast.expr, function: Function, project: Project, call: ast.Call) -> bool:
    """Whether a value is made of a parameter that a loop takes out of a model sharded by `fully_shard`."""
    if not project.declared.has_sharded:
        return False
    base: ast.expr = node
    while isinstance(base, (ast.Attribute, ast.Call)):
        if isinstance(base, ast.Attribute) and base.attr in {"to_local", "shape", "data_ptr", "numel"}:
            return False
        base = base.func if isinstance(base, ast.Call) else base.value
    if not isinstance(base, ast.Name):
        return False
    for part in walk(function.node):
        if not isinstance(part, (ast.For, ast.comprehension)) or base.id not in words(part.target):
            continue
        over = part.iter
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARAMETERS:
            return kinds.kind_of(over.func.value, function, project, call.lineno) == kinds.FSDP2
    return False


STATES = frozenset({"get_model_state_dict", "get_optimizer_state_dict", "get_state_dict"})
"""Functions of torch.distributed.checkpoint that return the state of a model."""


def _is_full_state(call: ast.Call, function: Function, project: Project) -> bool:
    """Whether the call gathers the whole state of a sharded model: `StateDictOptions(full_state_dict=True)`."""
    full = canonical(call.func, function.script)
    if not full.startswith("torch.distributed.checkpoint.state_dict.") or last(call.func) not in STATES:
        return False
    options = keyword(call, "options")
    if options is not None and dotted(options):
        options = project.single(options, function)
    if not isinstance(options, ast.Call) or constant(keyword(options, "full_state_dict")) is not True:
        return False
    return _imports_sharding(project)


def _imports_sharding(project: Project) -> bool:
    names = ("fully_shard", "FullyShardedDataParallel")
    return any(target.endswith(names) for script in project.scripts for target in script.imports.values())


def _method_table(
    method: str, owner: ast.expr, function: Function, project: Project, call: ast.Call
) -> tuple[str, Category] | None:
    kind = ""
    name = last(owner)
    for methods, wanted, named in (
        (_ACCELERATOR, kinds.ACCELERATOR, ("accelerator",)),
        (_FABRIC, kinds.FABRIC, ("fabric",)),
        (_ENGINE, kinds.ENGINE, ("model_engine", "ds_engine", "model_wrapped")),
        (_TRAINER, kinds.HF_TRAINER, ()),
        (_LIGHTNING, kinds.PL_TRAINER, ("trainer",) if method == "save_checkpoint" else ()),
        (_STRATEGY, "strategy", ("strategy",)),
    ):
        if method not in methods:
            continue
        kind = kind or kinds.kind_of(owner, function, project, call.lineno)
        if kind == wanted or (not kind and name.lstrip("_") in named and _imports(wanted, project)):
            category: Category = methods[method]  # type: ignore[assignment]
            if category == "accelerate-save" and project.declared.has_sharding_plugin:
                category = "state-dict" if method == "get_state_dict" else "save"
            return f"{dotted(owner) or name}.{method}", category
    if method in _MODULE and name in _MODULES and _imports(kinds.PL_TRAINER, project):
        return f"{name}.{method}", "collective"
    if method in _LOGS and constant(keyword(call, "sync_dist")) is True and name in _MODULES:
        return (f"{name}.{method}(sync_dist=True)", "hidden") if _imports(kinds.PL_TRAINER, project) else None
    if method == "save_model":
        kind = kinds.kind_of(owner, function, project, call.lineno)
        return (f"{dotted(owner)}.save_model", "trainer-save") if kind == kinds.HF_TRAINER else None
    return None


_ROOTS = {
    kinds.PL_TRAINER: ("lightning", "pytorch_lightning"),
    "strategy": ("lightning", "pytorch_lightning"),
    kinds.ACCELERATOR: ("accelerate",),
    kinds.FABRIC: ("lightning", "lightning_fabric"),
    kinds.ENGINE: ("deepspeed",),
}


def _imports(kind: str, project: Project) -> bool:
    roots = _ROOTS.get(kind, ())
    if kind == kinds.ENGINE and project.declared.has_deepspeed_config:
        return True
    return any(target.partition(".")[0] in roots for script in project.scripts for target in script.imports.values())


def _forward(call: ast.Call, callee: ast.expr, function: Function, project: Project) -> tuple[str, Category] | None:
    owner = callee
    if isinstance(callee, ast.Attribute) and callee.attr in {"forward", "__call__", "generate"}:
        owner = callee.value
    name = dotted(owner)
    if not name:
        return None
    kind = kinds.kind_of(owner, function, project, call.lineno)
    if kind in {kinds.FSDP1, kinds.FSDP2}:
        return name, "forward"
    if kind == kinds.ENGINE:
        return name, "engine-forward"
    if kind == kinds.PREPARED and project.declared.has_sharding_plugin:
        return name, "forward"
    return (name, "ddp-forward") if kind == kinds.DDP else None
