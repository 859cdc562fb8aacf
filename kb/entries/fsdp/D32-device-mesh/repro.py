"""D32: the mesh is written down for four ranks, and the job has two.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import json
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

TIMEOUT = timedelta(seconds=6)
CONFIG = '{"dp_shard": 2, "tp": 2}'
STEPS = 3
WIDTH = 16

log = logging.getLogger("train")


class Block(nn.Module):
    """A residual block whose two layers are divided by tensor parallelism."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.down(torch.relu(self.up(x)))
        return out


def make_mesh(fixed: bool) -> DeviceMesh:
    """Return the mesh of the run: data parallel groups outside, tensor parallel ranks next to one another."""
    sizes = json.loads(CONFIG)
    if fixed:
        world_size = dist.get_world_size()
        if world_size % sizes["tp"]:
            raise SystemExit(f"world size {world_size} is not a multiple of tp={sizes['tp']}")
        # The data parallel size is what the job leaves for it.
        sizes["dp_shard"] = world_size // sizes["tp"]
    return init_device_mesh("cpu", (sizes["dp_shard"], sizes["tp"]), mesh_dim_names=("dp_shard", "tp"))


def parallelize(model: nn.Sequential, mesh: DeviceMesh) -> None:
    """Tensor parallelism inside each block first, then fully_shard over the other dimension."""
    for block in model:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp_shard"])
    fully_shard(model, mesh=mesh["dp_shard"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="derive the data parallel size from the world size")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    mesh = make_mesh(fixed)
    log.info("mesh %s, this rank at %s", mesh, mesh.get_coordinate())
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block())
    parallelize(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    # Ranks of one tensor parallel group see the same batch.
    torch.manual_seed(1 + mesh.get_local_rank("dp_shard"))
    for step in range(1, STEPS + 1):
        batch = torch.randn(8, WIDTH)
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
