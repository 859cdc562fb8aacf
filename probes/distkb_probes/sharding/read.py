"""Reads the units of a model that is wrapped with FSDP1 or `fully_shard`, or not at all."""

# ruff: noqa: SLF001 - FSDP tells about itself in private attributes only
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from distkb_probes.sharding.blocks import block_classes, instances, kind_of
from distkb_probes.sharding.plan import Api, Buffer, Param, Plan, Unit
from distkb_probes.sharding.ties import Ties

_PREFIXES = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.", "module.")


def read(model: Any, ties: Ties) -> Plan:
    """Return what `model` consists of. Parameters are named as in the unwrapped model."""
    api = api_of(model)
    names = _names(model)
    blocks = block_classes(model)
    units = _fsdp1_units(model) if api == "fsdp1" else _fsdp2_units(model, names) if api == "fsdp2" else []
    managed = {param.name for unit in units for param in unit.params}
    plain = [] if api == "none" else [p for p in _plain(model, names) if p.name not in managed]
    skipped = _ignored_names(model) if api == "fsdp1" else set()
    params = [param for unit in units for param in unit.params] + plain
    if api == "none":
        params = _plain(model, names)
    return Plan(
        api=api,
        units=tuple(units),
        params=tuple(params),
        buffers=tuple(_buffers(model)),
        unmanaged=tuple(param for param in plain if param.name not in skipped),
        ignored=tuple(param for param in plain if param.name in skipped),
        broken_ties=tuple(_broken(model, ties)) if api != "none" else (),
        blocks=blocks,
        block_names=tuple(clean(name) for name, _ in instances(model, blocks)),
    )


def api_of(model: Any) -> Api:
    """Return which FSDP is in the model's tree; FSDP1 where both are (torch refuses to run that)."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    found: Api = "none"
    for module in model.modules():
        if isinstance(module, FullyShardedDataParallel):
            return "fsdp1"
        if hasattr(module, "_get_fsdp_state"):
            found = "fsdp2"
    return found


def clean(name: str) -> str:
    """Return a name without what wrappers put into it."""
    for prefix in _PREFIXES[:-1]:
        name = name.replace(prefix, "")
    return name.removesuffix("._fsdp_wrapped_module").replace("._fsdp_wrapped_module", "")


def dtype_name(dtype: Any) -> str | None:
    """Return `float32` for torch.float32, None for None."""
    return str(dtype).removeprefix("torch.") if dtype is not None else None


def is_flat(param: Any) -> bool:
    """Whether this is a flat parameter of FSDP1 (its class is hidden behind Parameter's)."""
    return bool(getattr(param, "_is_flat_param", False))


def _names(model: Any) -> dict[int, list[str]]:
    """Return all names of each parameter, by its id."""
    names: dict[int, list[str]] = {}
    for name, param in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(param), []).append(clean(name))
    return names


def _plain(model: Any, names: dict[int, list[str]]) -> list[Param]:
    found = []
    for param in model.parameters():
        if is_flat(param):
            continue
        first, *others = names[id(param)]
        found.append(_param(param, first, tuple(others)))
    return found


def _param(param: Any, name: str, also: tuple[str, ...] = (), shape: Sequence[int] | None = None) -> Param:
    return Param(
        name=name,
        shape=tuple(param.shape if shape is None else shape),
        dtype=dtype_name(param.dtype) or "",
        trainable=bool(param.requires_grad),
        device=str(param.device),
        also=also,
    )


def _buffers(model: Any) -> Iterable[Buffer]:
    for name, buffer in model.named_buffers():
        yield Buffer(clean(name), buffer.numel(), dtype_name(buffer.dtype) or "", str(buffer.device))


# FSDP2


def _fsdp2_units(model: Any, names: dict[int, list[str]]) -> list[Unit]:
    units: list[Unit] = []
    seen: set[int] = set()
    wrapped: list[str] = []
    for name, module in model.named_modules():
        if not hasattr(module, "_get_fsdp_state"):
            continue
        state = module._get_fsdp_state()
        if id(state) in seen:
            continue
        seen.add(id(state))
        root = not any(name.startswith(f"{above}." if above else "") for above in wrapped)
        wrapped.append(name)
        units += [_fsdp2_unit(clean(name), module, group, names, state, root=root) for group in _groups(state)]
    return units


def _groups(state: Any) -> list[Any]:
    """Return a state's parameter groups: one before torch 2.12, a list since."""
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        one = getattr(state, "_fsdp_param_group", None)
        return [one] if one is not None else []
    return list(groups)


def _policy(state: Any, group: Any) -> Any:
    """Return the mixed precision policy: the group keeps it until torch 2.13, the state in every version."""
    return getattr(group, "mp_policy", None) or state._mp_policy


def _fsdp2_unit(name: str, module: Any, group: Any, names: dict[int, list[str]], state: Any, *, root: bool) -> Unit:
    params, local, stored = [], [], 0
    policy = _policy(state, group)
    # Unless the user said otherwise, torch turns resharding off for a root when it first runs.
    stays = root and getattr(state, "_auto_reshard_after_forward", True)
    for item in group.fsdp_params:
        sharded = item.sharded_param
        first, *others = names.get(id(sharded)) or [item._module_info.param_name]
        params.append(_param(sharded, first, tuple(others), item._orig_size))
        local.append(sharded._local_tensor.numel())
        stored += item._sharded_param_data.numel() * sharded._local_tensor.element_size()
    mesh = group.mesh_info
    shard = int(getattr(mesh, "shard_mesh_size", 1))
    return Unit(
        name=name,
        kind=kind_of(module),
        params=tuple(params),
        root=root,
        api="fsdp2",
        shard=shard,
        replicate=int(getattr(mesh, "replicate_mesh_size", 1)),
        strategy="fully_shard",
        reshard=group.post_forward_mesh_info is not None and not stays,
        param_dtype=dtype_name(policy.param_dtype),
        reduce_dtype=dtype_name(policy.reduce_dtype),
        offload=any(item.offload_to_cpu for item in group.fsdp_params),
        shard_ranks=_mesh_ranks(mesh),
        local_bytes=stored,
        local_numel=tuple(local),
    )


def _mesh_ranks(info: Any) -> tuple[int, ...]:
    """Return the ranks that rank 0 shards with: its row of the mesh along the shard dimension."""
    mesh, dim = info.mesh.mesh, getattr(info, "shard_mesh_dim", None)
    if dim is None:
        return ()
    row = mesh.movedim(dim, -1).reshape(-1, mesh.shape[dim])[0]
    return tuple(int(rank) for rank in row.tolist())


# FSDP1


def _fsdp1_units(model: Any) -> list[Unit]:
    from torch.distributed.fsdp import FullyShardedDataParallel

    units: list[Unit] = []
    wrapped: list[str] = []
    for name, module in model.named_modules():
        if not isinstance(module, FullyShardedDataParallel):
            continue
        root = not any(name.startswith(f"{above}." if above else "") for above in wrapped)
        wrapped.append(name)
        if module._handle is not None:
            units.append(_fsdp1_unit(clean(name), module, root=root))
    return units


def _fsdp1_unit(name: str, module: Any, *, root: bool) -> Unit:
    handle, policy = module._handle, module.mixed_precision
    flat = handle.flat_param
    prefix = f"{name}." if name else ""
    originals = flat._params or [flat] * len(flat._fqns)
    shared: dict[str, list[str]] = {}
    for info in flat._shared_param_infos:
        first = f"{info.prim_module_name}.{info.prim_param_name}" if info.prim_module_name else info.prim_param_name
        other = f"{info.module_name}.{info.param_name}" if info.module_name else info.param_name
        shared.setdefault(clean(first), []).append(prefix + clean(other))
    params = []
    for label, shape, original in zip(flat._fqns, flat._shapes, originals, strict=True):
        also = tuple(shared.get(clean(label), ()))
        # Views of a frozen original may be of another dtype, never of another than the flat parameter's.
        params.append(
            Param(prefix + clean(label), tuple(shape), dtype_name(flat.dtype) or "", original.requires_grad, also=also)
        )
    strategy = module.sharding_strategy.name
    return Unit(
        name=name,
        kind=kind_of(module),
        params=tuple(params),
        root=root,
        api="fsdp1",
        shard=1 if strategy == "NO_SHARD" else handle.world_size,
        replicate=_replicas(module, strategy),
        strategy=strategy,
        reshard=strategy in {"FULL_SHARD", "HYBRID_SHARD"} and not root,
        param_dtype=dtype_name(policy.param_dtype),
        reduce_dtype=dtype_name(policy.reduce_dtype),
        buffer_dtype=dtype_name(policy.buffer_dtype),
        use_orig_params=bool(handle._use_orig_params),
        offload=bool(handle._offload_params),
        shard_ranks=_group_ranks(handle.process_group),
        local_bytes=flat.numel() * flat.element_size(),
        local_numel=_own_numel(flat),
    )


def _replicas(module: Any, strategy: str) -> int:
    between = getattr(module, "_inter_node_pg", None)
    return int(between.size()) if between is not None and "HYBRID" in strategy else 1


def _group_ranks(group: Any) -> tuple[int, ...]:
    import torch.distributed as dist

    return tuple(dist.get_process_group_ranks(group))


def _own_numel(flat: Any) -> tuple[int, ...]:
    """Return the elements of each parameter in this rank's shard, alignment padding left out."""
    if not hasattr(flat, "_shard_param_infos"):
        return tuple(math.prod(shape) for shape in flat._shapes)
    return tuple(info.numel_in_shard or 0 for info in flat._shard_param_infos)


def _ignored_names(model: Any) -> set[str]:
    ignored: set[int] = set()
    for module in model.modules():
        ignored |= {id(param) for param in getattr(module, "_ignored_params", ())}
    return {names[0] for key, names in _names(model).items() if key in ignored}


def _broken(model: Any, ties: Ties) -> Iterable[tuple[str, ...]]:
    """Yield the names of places that held one parameter and now hold parameters of different units."""
    owners = {id(module): clean(name) for name, module in model.named_modules()}
    wrapped = _unit_of(model)
    for places in ties.groups():
        known = [(module, name) for module, name in places if id(module) in owners]
        homes = {wrapped.get(id(module)) for module, _ in known}
        now = {id(module._parameters.get(name)) for module, name in known}
        if len(known) > 1 and len(homes) > 1 and (len(now) > 1 or None in homes or api_of(model) == "fsdp1"):
            yield tuple(f"{owners[id(module)]}.{name}".lstrip(".") for module, name in known)


def _unit_of(model: Any) -> dict[int, str]:
    """Return the name of the innermost unit around each module."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    units: dict[int, str] = {}
    states: dict[int, str] = {}

    def walk(module: Any, name: str, unit: str) -> None:
        if isinstance(module, FullyShardedDataParallel):
            unit = name
        elif hasattr(module, "_get_fsdp_state"):
            # Modules that were wrapped together, as a list, share one state.
            unit = states.setdefault(id(module._get_fsdp_state()), name)
        units[id(module)] = unit
        for label, child in module.named_children():
            walk(child, f"{name}.{label}", unit)

    walk(model, "", "")
    return units
