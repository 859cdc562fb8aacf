"""Three ranks with one fault after the other."""

# ruff: noqa: TID253 - a training script imports torch
from __future__ import annotations

import os
from datetime import timedelta
from typing import cast

import torch
import torch.distributed as dist
from live_notes import Notes
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

from distkb_probes import live


class Branching(nn.Module):
    """Uses its second layer only when told to; its third never."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, *, both: bool) -> torch.Tensor:
        """Run one or two layers."""
        x = self.first(x)
        return self.second(x) if both else x


def values(notes: Notes, rank: int) -> None:
    """Weights, NaN, shapes, dtypes, names, data, steps, learning rates."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    first, last = (cast("nn.Linear", layer) for layer in net)
    model = DistributedDataParallel(net)
    notes("start", live.tensors(model))
    with torch.no_grad():
        if rank == 2:
            last.weight[0, 0] = -last.weight[0, 0]
            last.weight[1, 1] = -last.weight[1, 1]
    notes("weights", live.check(model))
    if rank == 1:
        with torch.no_grad():
            first.bias[2] = float("nan")
    notes("nan", live.tensors(model))
    other = {"same": torch.zeros(3), "head": torch.zeros(3 + (rank == 0)), "scale": torch.ones(2)}
    if rank == 1:
        other["scale"] = other["scale"].half()
        other["extra"] = torch.zeros(1)
    notes("shapes", live.tensors(other))
    notes("data", live.data({"x": torch.arange(6.0) if rank else torch.arange(6.0) + 1, "y": [torch.zeros(0)]}))
    notes("structure", live.data([torch.full((2, 2), float(rank), dtype=torch.half if rank == 2 else torch.float)]))
    notes("step", live.step(7 - (rank == 1)))
    optimizer = torch.optim.SGD(nn.Linear(4, 4).parameters(), lr=0.1 if rank else 0.2)
    notes("optimizer", live.check(net, optimizer))
    first.weight.requires_grad_(rank != 0)
    notes("frozen", live.tensors(model))


def gradients(notes: Notes, rank: int) -> None:
    """Unsynchronised, missing on a rank, unused on all."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Branching())
    x = torch.full((2, 4), float(rank + 1))
    with model.no_sync():
        model(x, both=True).sum().backward()
        notes("unsynced", live.gradients(model))
        model.zero_grad()
        model(x, both=rank != 1).sum().backward()
        notes("branch", live.gradients(model))
    loose = DistributedDataParallel(Branching(), find_unused_parameters=True)
    loose(x, both=False).sum().backward()
    notes("loose", live.gradients(loose))
    added = DistributedDataParallel(nn.Sequential(nn.Linear(2, 2)))
    cast("nn.Sequential", added.module).append(nn.Linear(2, 2))
    notes("added", live.coverage(added))
    notes("unwrapped", live.coverage(nn.Linear(2, 2)))


def groups(notes: Notes, rank: int) -> None:
    """Two groups of all ranks, created in another order on rank 1; a collective on two ranks only; wrong meshes."""
    notes("agreed", live.groups())
    for seconds in (60, 90) if rank != 1 else (90, 60):
        dist.new_group(timeout=timedelta(seconds=seconds))
    notes("order", live.groups())
    total = torch.ones(1)
    waiting = dist.all_reduce(total, async_op=True) if rank == 0 else None
    notes("ahead", live.groups())
    if waiting is None:
        dist.all_reduce(total)
    else:
        waiting.wait()
    notes("level", live.groups())
    pair = dist.new_group([0, 1])
    notes("pair", live.memory(group=pair if rank < 2 else None) if rank < 2 else live.data([], group=pair))
    ranks = [0, 1, 2] if rank != 2 else [0, 2, 1]
    notes("mesh", live.mesh(DeviceMesh("cpu", ranks, mesh_dim_names=("dp",), _init_backend=False)))
    small = DeviceMesh("cpu", [0, 1], mesh_dim_names=("dp",), _init_backend=False)
    notes("small-mesh", live.mesh(small))


def main() -> None:
    """Run through all faults and note what is found."""
    dist.init_process_group("gloo")
    notes = Notes()
    for part in (values, gradients, groups):
        part(notes, dist.get_rank())
    notes.write()
    dist.destroy_process_group()
    os._exit(0)  # not through the interpreter's end, where torch 2.13 may abort: pytorch#190489


main()
