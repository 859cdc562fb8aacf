"""Two ranks that are as they should be: DDP, an uneven fully_shard model, FSDP1, and nothing changed by the checks."""

# ruff: noqa: TID253 - a training script imports torch
from __future__ import annotations

import copy
import os
from typing import Any, cast

import torch
import torch.distributed as dist
from live_notes import Notes
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

from distkb_probes import live


def state(model: nn.Module) -> list[Any]:
    """Everything that a check must leave alone."""
    tensors = [*model.parameters(), *model.buffers()]
    kept = [(t.data_ptr(), t._version, t.detach().clone()) for t in tensors]
    grads = [
        None if p.grad is None else (p.grad.data_ptr(), p.grad._version, p.grad.clone()) for p in model.parameters()
    ]
    return [kept, grads, torch.get_rng_state(), _sequence()]


def _sequence() -> int:
    world: Any = dist.group.WORLD
    return int(world._get_sequence_number_for_group())


def same(one: Any, other: Any) -> bool:
    """Compare nested lists of tensors and numbers exactly."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def main() -> None:
    """Check healthy models again and again."""
    notes = Notes()
    notes("before-init", live.check(nn.Linear(2, 2)))
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 13), nn.BatchNorm1d(13), nn.Linear(13, 3).bfloat16().float())
    plain = copy.deepcopy(net)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    torch.manual_seed(rank)
    for step in range(2):
        batch = {"x": torch.randn(4, 7), "ids": [torch.arange(3) + rank]}
        model(batch["x"]).sum().backward()
        before = state(model)
        notes(f"ddp-{step}", live.check(model, optimizer, batch=batch, step=step, mesh=mesh))
        notes.said[f"unchanged-{step}"] = same(before, state(model))
        optimizer.step()
        optimizer.zero_grad()
    notes("inner", live.coverage(model.module))
    notes("buffers", live.tensors(model, what="buffers"))
    # 13 rows and 3 rows over 2 ranks: the shards are uneven
    for layer in plain:
        fully_shard(layer, mesh=mesh)
    fully_shard(plain, mesh=mesh)
    sharded = torch.optim.SGD(plain.parameters(), lr=0.1)
    notes("fsdp2-new", live.check(plain, sharded, mesh=mesh))
    plain(torch.randn(4, 7)).sum().backward()
    notes("fsdp2-backward", live.check(plain, sharded))
    cast("FSDPModule", plain).unshard()
    notes("fsdp2-gathered", live.check(plain, sharded))
    notes("placements", live.placements(plain))
    for keep in (True, False):
        wrapped = FullyShardedDataParallel(
            nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 1)), device_id=torch.device("cpu"), use_orig_params=keep
        )
        wrapped(torch.randn(2, 5)).sum().backward()
        notes(f"fsdp1-{keep}", live.check(wrapped, torch.optim.SGD(wrapped.parameters(), lr=0.1)))
    subgroup = dist.new_group([0])
    notes("subgroup", live.memory(group=subgroup))
    notes.said["document"] = live.document()
    notes.write()
    dist.destroy_process_group()
    os._exit(0)  # not through the interpreter's end, where torch 2.13 may abort: pytorch#190489


main()
