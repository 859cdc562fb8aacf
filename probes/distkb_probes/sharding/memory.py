"""Bytes per rank of parameters, gradients and optimizer state, for each way of sharding.

Everything is counted for rank 0, which is the most loaded one: where a size does not divide, the first ranks hold
more. Activations, the allocator's fragmentation, the CUDA context and NCCL's buffers are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from distkb_probes.sharding.plan import ITEM_BYTES, Api, Param, Plan, Unit

Optimizer = Literal["adamw", "sgd", "sgd-momentum"]
Precision = Literal["no", "bf16", "fp16"]

STATES: dict[str, int] = {"adamw": 2, "sgd-momentum": 1, "sgd": 0}
"""Tensors of a parameter's size that the optimizer keeps. `torch.optim.Adam(W)` makes `exp_avg` and `exp_avg_sq`
with `zeros_like(param)`, so in the parameter's own dtype; its step counter (4 bytes each, on the host unless fused or
capturable) is left out. SGD keeps one momentum buffer, a clone of the gradient, and none without momentum."""

ZERO3_LIVE_PARAMETERS = 10**9
"""DeepSpeed's default `stage3_max_live_parameters`."""
ZERO_BUCKET = 5 * 10**8
"""DeepSpeed's default `reduce_bucket_size`, in elements."""


@dataclass(frozen=True)
class Setting:
    """The run that is asked about."""

    world_size: int
    per_node: int
    """Ranks of one node: the shard group of the hybrid strategies."""
    optimizer: Optimizer = "adamw"
    precision: Precision = "no"


@dataclass(frozen=True)
class Bytes:
    """What one rank holds. `working` is what the busiest moment adds to the other three."""

    params: int
    grads: int
    optimizer: int
    working: int

    @property
    def total(self) -> int:
        """Parameters, gradients and optimizer state: what is there between two steps."""
        return self.params + self.grads + self.optimizer

    @property
    def peak(self) -> int:
        """`total` and what is gathered or copied at the busiest moment."""
        return self.total + self.working


def rows(shape: Sequence[int], shards: int, rank: int = 0) -> tuple[int, int]:
    """Return the elements of a `fully_shard` parameter that `rank` owns, and those it stores.

    `torch.chunk` on dim 0: ceil(rows / shards) rows each, the last ranks less or none. Every rank stores as much as
    the first, padded (torch.distributed.fsdp._fully_shard._fsdp_param, `padded_sharded_param_size`).
    """
    if not shape:
        return 1, 1
    rest = math.prod(shape[1:])
    chunk = -(-shape[0] // shards)
    own = max(0, min(chunk, shape[0] - rank * chunk))
    return own * rest, chunk * rest


def flat(params: Sequence[Param], shards: int, *, aligned: bool, compute: str | None = None) -> int:
    """Return the elements of FSDP1's flat parameter that one rank stores.

    With `use_orig_params=True` every parameter but the first starts at a multiple of 16 bytes of the dtype it is
    computed in, and the end is padded to a multiple of the ranks; the shard is the first of `torch.chunk`, so it is
    padded in any case (torch.distributed.fsdp._flat_param, `_init_flat_param_and_metadata`, `_get_shard`).
    """
    if not params:
        return 0
    step = max(1, 16 // ITEM_BYTES.get(compute or params[0].dtype, 4)) if aligned else 1
    total = 0
    for param in params:
        total = -(-total // step) * step + param.numel
    return -(-total // shards)


def fsdp2(plan: Plan, setting: Setting, shards: int, *, reshard: bool = True) -> Bytes:
    """Return the bytes of `fully_shard` over `shards` ranks: per-parameter shards on dim 0.

    Parameters, gradients and states have the parameter's own dtype; gradients and shards are padded alike (a
    gradient is a view into the reduce-scatter's output), states are not, which rank 0 does not feel.
    """
    params = grads = states = 0
    for param in _managed(plan):
        own, stored = rows(param.shape, shards)
        params += stored * param.item_bytes
        if param.trainable:
            grads += stored * param.item_bytes
            states += own * param.item_bytes * STATES[setting.optimizer]
    return _with_loose(
        plan, setting, Bytes(params, grads, states, working(plan, setting, api="fsdp2", reshard=reshard))
    )


def fsdp1(plan: Plan, setting: Setting, shards: int, *, reshard: bool = True) -> Bytes:
    """Return the bytes of `FullyShardedDataParallel` over `shards` ranks: one flat parameter for each unit.

    Where frozen and trainable parameters share a flat parameter, its gradient and its gathered form have the size of
    both; the optimizer holds states for the trainable part (at most the whole shard).
    """
    params = grads = states = 0
    for unit in plan.units:
        compute = unit.param_dtype or compute_dtype(setting)
        for same in _by_dtype(unit.params):
            local = flat(same, shards, aligned=unit.use_orig_params, compute=compute) * same[0].item_bytes
            params += local
            trainable = sum(param.nbytes for param in same if param.trainable)
            if trainable:
                grads += local
                states += min(local, trainable) * STATES[setting.optimizer]
    return _with_loose(
        plan, setting, Bytes(params, grads, states, working(plan, setting, api="fsdp1", reshard=reshard))
    )


def ddp(plan: Plan, setting: Setting) -> Bytes:
    """Return the bytes of DDP: everything whole on every rank.

    Working: the reducer's buckets are a second copy of all gradients unless `gradient_as_bucket_view=True`, and
    autocast keeps a low-precision copy of the weights until the backward has used them.
    """
    every = plan.params
    trainable = [param for param in every if param.trainable]
    grads = sum(param.nbytes for param in trainable)
    buckets = grads if setting.world_size > 1 else 0
    copies = sum(2 * param.numel for param in every if param.item_bytes > 2) if setting.precision != "no" else 0
    return Bytes(
        params=sum(param.nbytes for param in every) + _buffers(plan),
        grads=grads,
        optimizer=sum(param.nbytes * STATES[setting.optimizer] for param in trainable),
        working=buckets + copies,
    )


def zero(plan: Plan, setting: Setting, stage: int) -> Bytes:
    """Return the bytes of DeepSpeed ZeRO.

    Ψ trainable parameters of w bytes (2 under bf16/fp16), N ranks, K bytes of optimizer state each (Adam: fp32 master
    4, momentum 4, variance 4 = 12): stage 1 wΨ + wΨ + KΨ/N, stage 2 wΨ + (w + K)Ψ/N, stage 3 (w + w + K)Ψ/N
    (Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5). Stages 1 and 2 cut one flat buffer at a multiple of 2N
    elements, stage 3 every parameter by itself; a model kept in fp32 has no separate master weights in stage 3.
    Working: the reduce bucket, or the gradients' fp32 copy that the step makes; in stage 3 also the live parameters.
    """
    ranks = setting.world_size
    low = setting.precision != "no"
    width = {param.name: 2 if low else param.item_bytes for param in plan.params}
    trainable = [param for param in plan.params if param.trainable]
    count = sum(param.numel for param in trainable)
    whole = sum(param.numel * width[param.name] for param in plan.params)
    grads = sum(param.numel * width[param.name] for param in trainable)
    widest = max((width[param.name] for param in trainable), default=0)
    if stage == 3:
        part = sum(-(-param.numel // ranks) for param in trainable)
        params = sum(-(-param.numel // ranks) * width[param.name] for param in plan.params)
    else:
        part = -(-count // (2 * ranks)) * 2
        params = whole
    master = 0 if stage == 3 and widest == 4 else 4
    live = min(whole, ZERO3_LIVE_PARAMETERS * (2 if low else widest)) if stage == 3 else 0
    return Bytes(
        params=params + _buffers(plan),
        grads=grads if stage == 1 else part * widest,
        optimizer=part * (master + 4 * STATES[setting.optimizer]),
        working=max(live + min(count, ZERO_BUCKET) * widest, 4 * part),
    )


def built(plan: Plan, setting: Setting) -> Bytes:
    """Return the bytes of the model as the callable wrapped it: each unit by its own group, dtypes and resharding.

    Shards that are offloaded to the CPU are left out, with their gradients and states.
    """
    params = grads = states = 0
    for unit in plan.units:
        if unit.offload:
            continue
        local = unit_bytes(unit, setting)
        params += local.params
        grads += local.grads
        states += local.optimizer
    return _with_loose(plan, setting, Bytes(params, grads, states, working(plan, setting)))


def unit_bytes(unit: Unit, setting: Setting) -> Bytes:
    """Return what rank 0 holds of one unit, from its real shards where they were read."""
    if not unit.params:
        return Bytes(0, 0, 0, 0)
    kept = STATES[setting.optimizer]
    trainable = [param for param in unit.params if param.trainable]
    if unit.api == "fsdp1":
        return _flat_bytes(unit, kept)
    stored = sum(rows(param.shape, unit.shard)[1] * param.item_bytes for param in unit.params)
    grads = sum(rows(param.shape, unit.shard)[1] * param.item_bytes for param in trainable)
    own = sum(rows(param.shape, unit.shard)[0] * param.item_bytes for param in trainable)
    if unit.local_numel:
        sizes = dict(zip((param.name for param in unit.params), unit.local_numel, strict=True))
        own = sum(sizes[param.name] * param.item_bytes for param in trainable)
        # A placement other than dim 0 divides evenly, so what is owned is what is stored.
        grads = max(grads, own) if unit.shard == 1 else sum(sizes[p.name] * p.item_bytes for p in trainable)
    return Bytes(unit.local_bytes if unit.local_bytes is not None else stored, grads, own * kept, 0)


def _flat_bytes(unit: Unit, kept: int) -> Bytes:
    """Return what rank 0 holds of one flat parameter.

    With original parameters the optimizer sees their parts of the shard, without them the shard with its padding.
    """
    item = unit.params[0].item_bytes
    stored = unit.local_bytes
    if stored is None:
        stored = flat(unit.params, unit.shard, aligned=unit.use_orig_params, compute=unit.param_dtype) * item
    trained = [param.trainable for param in unit.params]
    own = stored
    if unit.use_orig_params and unit.local_numel:
        own = sum(n for n, yes in zip(unit.local_numel, trained, strict=True) if yes) * item
    return Bytes(stored, stored if any(trained) else 0, own * kept if any(trained) else 0, 0)


def working(plan: Plan, setting: Setting, *, api: Api | None = None, reshard: bool | None = None) -> int:
    """Return the bytes that gathering and reducing add at the busiest moment.

    Gathered at once, in the dtype that computes: the root (kept until the backward), every unit that is not resharded
    after the forward, and of the others the largest two in a row, because the next one is prefetched. Then one unit's
    whole gradient on its way to the reduce-scatter. `api` and `reshard` None take each unit's own.
    """
    fallback = compute_dtype(setting) if reshard is not None else None
    kept = gradient = 0
    passing: list[int] = []
    for unit in plan.units:
        size = gathered(unit, fallback)
        frees = unit.reshard if reshard is None else reshard
        if reshard is None and unit.strategy == "NO_SHARD" and unit.param_dtype is None:
            # The parameters are whole already; only another dtype needs a copy of them.
            size = 0
        if not frees or (unit.root and reshard is not None):
            kept += size
        else:
            passing.append(size)
        gradient = max(gradient, reducing(unit, api or unit.api, fallback))
    return kept + pair(passing) + gradient


def reducing(unit: Unit, api: Api, fallback: str | None = None) -> int:
    """Return the bytes of a unit's whole gradient and of the copy that is reduced.

    FSDP2 copies the gradients of the trained parameters into one buffer in `reduce_dtype`; FSDP1 has the gradient of
    the flat parameter, trained or not, and copies it only to change its dtype.
    """
    trained = [param for param in unit.params if param.trainable]
    if not trained:
        return 0
    total = 0
    for param in unit.params if api == "fsdp1" else trained:
        compute = unit.param_dtype or fallback or param.dtype
        reduced = unit.reduce_dtype or compute
        total += param.numel * ITEM_BYTES.get(compute, 4)
        if api == "fsdp2" or reduced != compute:
            total += param.numel * ITEM_BYTES.get(reduced, 4)
    return total


def gathered(unit: Unit, fallback: str | None = None) -> int:
    """Return the bytes of a unit's gathered parameters in the dtype that computes."""
    compute = unit.param_dtype or fallback
    return sum(param.numel * (ITEM_BYTES[compute] if compute else param.item_bytes) for param in unit.params)


def pair(sizes: Sequence[int]) -> int:
    """Return the largest sum of two neighbours."""
    if len(sizes) < 2:
        return sum(sizes)
    return max(first + second for first, second in pairwise(sizes))


def table(plan: Plan, setting: Setting) -> dict[str, Bytes]:
    """Return the bytes per rank for every strategy, the one with the most memory first; `built` last, if wrapped."""
    ranks, node = setting.world_size, setting.per_node
    out = {"ddp": ddp(plan, setting)}
    out |= {f"zero{stage}": zero(plan, setting, stage) for stage in (1, 2, 3)}
    out["shard_grad_op"] = fsdp1(plan, setting, ranks, reshard=False)
    hybrid = 1 < node < ranks and ranks % node == 0
    if hybrid:
        out["hybrid_shard"] = fsdp1(plan, setting, node)
    out["full_shard"] = fsdp1(plan, setting, ranks)
    out["fsdp2_no_reshard"] = fsdp2(plan, setting, ranks, reshard=False)
    if hybrid:
        out["fsdp2_hybrid"] = fsdp2(plan, setting, node)
    out["fsdp2"] = fsdp2(plan, setting, ranks)
    if plan.api != "none":
        out["built"] = built(plan, setting)
    return out


def compute_dtype(setting: Setting) -> str | None:
    """Return the dtype that mixed precision computes in; None without it."""
    return {"bf16": "bfloat16", "fp16": "float16"}.get(setting.precision)


def _managed(plan: Plan) -> list[Param]:
    return [param for unit in plan.units for param in unit.params]


def _by_dtype(params: Sequence[Param]) -> list[list[Param]]:
    kinds: dict[str, list[Param]] = {}
    for param in params:
        kinds.setdefault(param.dtype, []).append(param)
    return list(kinds.values())


def _buffers(plan: Plan) -> int:
    return sum(buffer.nbytes for buffer in plan.buffers)


def _with_loose(plan: Plan, setting: Setting, shared: Bytes) -> Bytes:
    """Add what no unit shards: buffers, and parameters outside all units, whole on every rank."""
    loose = (*plan.unmanaged, *plan.ignored)
    trainable = sum(param.nbytes for param in loose if param.trainable)
    return Bytes(
        shared.params + sum(param.nbytes for param in loose) + _buffers(plan),
        shared.grads + trainable,
        shared.optimizer + trainable * STATES[setting.optimizer],
        shared.working,
    )
