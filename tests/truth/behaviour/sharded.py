"""What FSDP does on two ranks with gloo and no GPU; each function returns what it saw, rank 0 prints all of it."""

from __future__ import annotations

import copy
import inspect
import tempfile
import warnings
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from shown import error_of, see, tell
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, ShardingStrategy, StateDictType
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # before torch 2.6
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard  # type: ignore[attr-defined,no-redef,assignment,unused-ignore]

CPU = torch.device("cpu")


def everywhere(value: object) -> list[Any]:
    """The values of both ranks."""
    seen: list[Any] = [None, None]
    dist.all_gather_object(seen, value)
    return seen


def old(model: nn.Module, **options: Any) -> Any:
    """A model under FSDP1."""
    return FullyShardedDataParallel(model, device_id=CPU, **options)


def new(model: nn.Module, **options: Any) -> Any:
    """A model under fully_shard."""
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)), **options)
    return model


def two_layers() -> nn.Module:
    """A small model with an inner layer."""
    return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))


def flat_parameters() -> list[object]:
    """How many parameters a unit shows without the original ones, their name and their number of dimensions."""
    named = list(old(two_layers(), use_orig_params=False).named_parameters())
    return [len(named), named[0][0], named[0][1].ndim]


def original_parameters() -> list[object]:
    """The dimensions of a weight of 16 numbers on each rank, and how many numbers both hold together."""
    weight = old(nn.Linear(4, 4), use_orig_params=True).weight
    return [weight.ndim, sum(everywhere(weight.numel()))]


def frozen_beside_trained() -> str:
    """The error of a unit with a frozen and a trained parameter without the original ones."""
    model = nn.Linear(4, 4)
    model.bias.requires_grad = False
    return error_of(lambda: old(model, use_orig_params=False))


def frozen_beside_trained_with_originals() -> bool:
    """Whether the same unit is taken with the original parameters."""
    model = nn.Linear(4, 4)
    model.bias.requires_grad = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return not error_of(lambda: old(model, use_orig_params=True))


def two_dtypes_in_a_unit() -> str:
    """The error of FSDP1 with a bias of another dtype."""
    model = nn.Linear(4, 4)
    model.bias.data = model.bias.data.half()
    return error_of(lambda: old(model))


def two_dtypes_in_a_group() -> str:
    """The error of fully_shard with a bias of another dtype, at the first forward."""
    model = nn.Linear(4, 4)
    model.bias.data = model.bias.data.half()
    return error_of(lambda: new(model)(torch.ones(1, 4)))


def names_under_fsdp1() -> str:
    """The name of an inner layer's first parameter."""
    model = nn.Sequential(old(nn.Linear(4, 4), use_orig_params=True))
    return str(next(iter(dict(model.named_parameters()))))


def units_by_size() -> int:
    """How many units a small model has under the size policy as it is."""
    model = old(two_layers(), auto_wrap_policy=size_based_auto_wrap_policy)
    return sum(isinstance(module, FullyShardedDataParallel) for module in model.modules())


def strategy_for_one_rank() -> list[str]:
    """What a rank by itself is told, and the strategy that it gets."""
    groups = [dist.new_group([rank]) for rank in range(2)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = old(nn.Linear(4, 4), process_group=groups[dist.get_rank()])
    return [" ".join(str(one.message) for one in caught)[:80], model.sharding_strategy.name]


def hybrid_with_a_flat_mesh() -> str:
    """The error of HYBRID_SHARD with a mesh of one dimension."""
    mesh = init_device_mesh("cpu", (2,))
    hybrid = ShardingStrategy.HYBRID_SHARD
    return error_of(lambda: old(nn.Linear(4, 4), sharding_strategy=hybrid, device_mesh=mesh))


def mesh_of_three_dimensions() -> str:
    """The error of fully_shard with a mesh of three dimensions."""
    mesh = init_device_mesh("cpu", (1, 1, 2))
    return error_of(lambda: fully_shard(nn.Linear(4, 4), mesh=mesh))


def who_keeps_the_full_state() -> list[int]:
    """How many tensors of a full state dict each rank has with rank0_only."""
    model = old(nn.Linear(4, 4), use_orig_params=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = FullStateDictConfig(rank0_only=True)
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, options):
            return everywhere(len(model.state_dict()))


def full_state_by_default() -> list[int]:
    """How many numbers of a weight of 16 each rank has in a state dict without a word about its type."""
    return everywhere(old(nn.Linear(4, 4), use_orig_params=True).state_dict()["weight"].numel())


def norms_of_shards() -> list[bool]:
    """Whether both ranks see one gradient norm: by torch's function, and by FSDP1's own."""
    model = old(nn.Linear(4, 4, bias=False), use_orig_params=True)
    seen = []
    for clip in (lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0), lambda: model.clip_grad_norm_(1.0)):
        model.zero_grad()
        model(torch.arange(4.0).reshape(1, 4) + 1).square().sum().backward()
        first, second = everywhere(float(clip()))
        seen.append(abs(first - second) < 1e-4)
    return seen


def norm_under_fully_shard() -> bool:
    """Whether torch's function gives both ranks one norm of DTensors."""
    model = new(nn.Linear(4, 4, bias=False))
    model(torch.arange(4.0).reshape(1, 4) + 1).square().sum().backward()
    norm: Any = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    first, second = everywhere(float(norm.full_tensor()))
    return bool(first == second)


def values_of_each_rank() -> list[float]:
    """The rows of a weight under fully_shard where each rank had filled its own with its rank."""
    model = nn.Linear(2, 2, bias=False)
    model.weight.data.fill_(float(dist.get_rank()))
    weight: Any = new(model).weight
    return [row[0].item() for row in weight.full_tensor()]


def full_state_into_shards() -> str:
    """The error of load_state_dict with full tensors under fully_shard."""
    full = nn.Linear(4, 4).state_dict()
    return error_of(lambda: new(nn.Linear(4, 4)).load_state_dict(full))


def full_state_by_its_function() -> float:
    """A number of the model after set_model_state_dict with what only rank 0 has."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    model = new(nn.Linear(4, 4, bias=False))
    full: dict[str, Any] = {"weight": torch.full((4, 4), 7.0)} if dist.get_rank() == 0 else {}
    set_model_state_dict(model, full, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    return float(model.weight.to_local()[0, 0])


def dtypes_that_are_kept() -> list[str]:
    """What is stored under a policy of bf16: of fp32 weights, and of bf16 weights with a policy of fp32."""
    kept = []
    for own, compute in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)):
        model = new(nn.Linear(4, 4).to(own), mp_policy=MixedPrecisionPolicy(param_dtype=compute))
        kept.append(str(model.state_dict()["weight"].dtype))
    return kept


def buffers_under_fully_shard() -> str:
    """The dtype of a buffer in a module whose parameters compute in bf16."""
    model = nn.Sequential(nn.Linear(4, 4))
    model.register_buffer("table", torch.ones(4))
    new(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))(torch.ones(1, 4))
    table: Any = model.table
    return str(table.dtype)


def class_under_fully_shard() -> list[bool]:
    """Whether the model is still of its class, still the same object, and has an inner module."""
    model = nn.Linear(4, 4)
    sharded = new(model)
    return [isinstance(sharded, nn.Linear), sharded is model, hasattr(sharded, "module")]


def forward_by_its_name() -> str:
    """The error of `model.forward(x)` under fully_shard, which runs past the hooks."""
    return error_of(lambda: new(nn.Linear(4, 4)).forward(torch.ones(1, 4)))


def inner_unit_first() -> str:
    """The error of the root's forward after an inner unit ran by itself under fully_shard."""
    model = two_layers()
    for layer in model:  # type: ignore[attr-defined]
        new(layer)
    root = new(model)
    model[0](torch.ones(1, 4))  # type: ignore[index]
    return error_of(lambda: root(torch.ones(1, 4)))


def copy_of_shards() -> str:
    """The error of deepcopy of a model under fully_shard."""
    model = new(nn.Linear(4, 4))
    return error_of(lambda: copy.deepcopy(model))


def attribute_through_fsdp1() -> list[int]:
    """What an attribute of the model says through FSDP1, and what the model says after it was set there."""
    model = old(nn.Linear(4, 4))
    read = model.out_features
    model.out_features = 9
    return [read, model.module.out_features]


def optimizer_made_before() -> list[int]:
    """How many parameters of an optimizer that was made before fully_shard are still the model's."""
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    new(model)
    now = {id(parameter) for parameter in model.parameters()}
    return [sum(id(one) in now for one in optimizer.param_groups[0]["params"]), len(now)]


def checkpoint_with_other_names() -> str:
    """The error of dcp.load where the file has another name for a weight."""
    from torch.distributed.checkpoint.state_dict_loader import load
    from torch.distributed.checkpoint.state_dict_saver import save

    folder: list[Any] = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save({"weight": torch.ones(2)}, checkpoint_id=folder[0])
        return error_of(lambda: load({"other": torch.ones(2)}, checkpoint_id=folder[0]))


def meta_under_fully_shard() -> list[str]:
    """Where the parameters are of a model made on the meta device: sharded, and after to_empty."""
    model = new(nn.Linear(4, 4, device="meta"))
    seen = [model.weight.device.type]
    model.to_empty(device="cpu")
    return [*seen, model.weight.device.type]


def sending_by_fsdp1() -> list[object]:
    """Whether FSDP1 sends rank 0's values by default, and its error where it shall and the model is on the CPU."""
    default = inspect.signature(FullyShardedDataParallel.__init__).parameters["sync_module_states"].default
    said = error_of(lambda: old(nn.Linear(2, 2), sync_module_states=True))
    return [default, "requires them to be on GPU" in said and "device_id" in said]


def plan_without_a_match() -> bool:
    """Whether a key of the plan that no module has is told."""
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallelize_module(two_layers(), init_device_mesh("cpu", (2,)), {"layers.*.up": ColwiseParallel()})
    return any("layers" in str(one.message) for one in caught)


AIDS = {"everywhere", "old", "new", "two_layers", "fully_shard", "size_based_auto_wrap_policy"}
SHOWN = [one for one in list(globals().values()) if inspect.isfunction(one) and one.__module__ == "__main__"]

if __name__ == "__main__":
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    seen = see(one for one in SHOWN if one.__name__ not in AIDS)
    if dist.get_rank() == 0:
        tell(seen)
    dist.monitored_barrier()
    dist.destroy_process_group()
