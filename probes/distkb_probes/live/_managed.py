"""Which wrapper looks after which parameter: DDP, FSDP1, fully_shard, DeepSpeed, tensor parallelism, or nobody."""

from __future__ import annotations

import dataclasses
import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SHARDED = frozenset({"fsdp1", "fsdp2", "zero"})
"""Kinds whose values a rank holds only in part, or only for a while."""
_NOISE = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")
_DDP = "DistributedDataParallel"
_ENGINE = "DeepSpeedEngine"


@dataclasses.dataclass(frozen=True)
class Managed:
    """One parameter and who looks after it."""

    name: str
    parameter: torch.nn.Parameter
    kind: str
    """`ddp`, `fsdp1`, `fsdp2`, `zero`, `deepspeed`, `dtensor`, or `none`."""
    dtensor: Any = None
    """The parameter as a DTensor, also while fully_shard has it gathered; None for plain ones."""


def survey(model: torch.nn.Module) -> list[Managed]:
    """Return every parameter of the model, in the model's order, with its manager. Reads only what is on this rank."""
    fsdp1, fsdp2 = _flat_parameters(model), _shards(model)
    replicated = _replicated(model)
    found = []
    for name, parameter in model.named_parameters():
        shard = fsdp2.get(id(parameter))
        dtensor = shard if shard is not None else (parameter if is_dtensor(parameter) else None)
        if id(parameter) in fsdp1:
            kind = "fsdp1"
        elif shard is not None:
            kind = "fsdp2"
        elif hasattr(parameter, "ds_id"):
            kind = "zero"
        else:
            kind = replicated.get(id(parameter)) or ("dtensor" if dtensor is not None else "none")
        found.append(Managed(plain_name(name), parameter, kind, dtensor))
    if found and all(item.kind == "none" for item in found) and (outer := _wrapper_of(model)):
        kinds = _replicated(outer)
        found = [dataclasses.replace(item, kind=kinds.get(id(item.parameter), "none")) for item in found]
    return found


def plain_name(name: str) -> str:
    """Return a parameter's name without what wrappers put into it."""
    for part in _NOISE:
        name = name.replace(part, "")
    return name.removeprefix("module.")


def is_dtensor(value: object) -> bool:
    """Say whether a value is a DTensor, without importing torch.distributed.tensor."""
    return any(
        cls.__name__ == "DTensor" and cls.__module__.startswith("torch.distributed") for cls in type(value).__mro__
    )


def wrappers(model: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the DDP modules in a model, its outermost first."""
    return [module for module in model.modules() if _named(module, _DDP)]


def _named(value: object, name: str) -> bool:
    """True for an instance of a class of that name or of a subclass: Megatron and DeepSpeed have their own."""
    return any(cls.__name__ == name for cls in type(value).__mro__)


def _replicated(model: torch.nn.Module) -> dict[int, str]:
    """Ids of the parameters whose gradients DDP or a DeepSpeed engine averages."""
    found: dict[int, str] = {}
    for module in model.modules():
        if _named(module, _DDP):
            handled = getattr(module, "_module_parameters", None) or module.parameters()
            found.update((id(parameter), "ddp") for parameter in handled)
        elif _named(module, _ENGINE):
            found.update((id(parameter), "deepspeed") for parameter in module.parameters())
    for inner in _composable_ddp(model):
        found.update((id(parameter), "ddp") for parameter in inner.parameters())
    return found


def _composable_ddp(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The DDP modules that `torch.distributed._composable.replicate` keeps beside the model."""
    contract = sys.modules.get("torch.distributed._composable.contract")
    if contract is None:
        return []
    states = [state for module in model.modules() for state in module.__dict__.get(contract.STATE_KEY, {}).values()]
    return [state._ddp for state in states if hasattr(state, "_ddp")]  # noqa: SLF001 - there is no public way


def _flat_parameters(model: torch.nn.Module) -> set[int]:
    """Ids of the parameters in FSDP1's flat parameters, original ones included."""
    found: set[int] = set()
    for module in model.modules():
        handle = getattr(module, "_handle", None)
        flat = getattr(handle, "flat_param", None)
        if flat is None:
            continue
        found.add(id(flat))
        for name in ("_params", "_shared_params"):
            found.update(id(parameter) for parameter in getattr(flat, name, None) or () if parameter is not None)
    return found


def _shards(model: torch.nn.Module) -> dict[int, Any]:
    """Of every parameter under fully_shard, gathered or not, the id and its shard as a DTensor."""
    found: dict[int, Any] = {}
    for module in model.modules():
        if not _named(module, "FSDPModule"):
            continue
        state = module._get_fsdp_state()  # type: ignore[operator]  # noqa: SLF001 - there is no public way
        groups = getattr(state, "_fsdp_param_groups", None)
        if groups is None:
            groups = [state._fsdp_param_group]  # noqa: SLF001 - older versions have one group
        for managed in (one for group in groups if group is not None for one in group.fsdp_params):
            shard = managed.sharded_param
            found[id(shard)] = shard
            full = getattr(managed, "_unsharded_param", None)
            if full is not None:
                found[id(full)] = shard
    return found


def _wrapper_of(model: torch.nn.Module) -> torch.nn.Module | None:
    """Find a DDP module or DeepSpeed engine that holds this module: scripts often keep the inner one at hand."""
    for candidate in gc.get_objects():
        kind = type(candidate)
        if kind.__name__ in {_DDP, _ENGINE} and getattr(candidate, "module", None) is model:
            return candidate  # type: ignore[no-any-return]
    return None
