"""Shards a small model with `fully_shard` and trains it.

As it stands, the list of layers is wrapped instead of the layers: a ModuleList is never called, so nothing would
gather its parameters, and `fully_shard` refuses it. With `--fixed` every layer is a unit of its own.
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

STEPS = 4
WIDTH = 64


class Layer(nn.Module):
    """A residual feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.down(torch.relu(self.up(x)))
        return out


class Model(nn.Module):
    """A stack of layers with an output head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        for layer in self.layers:
            x = layer(x)
        out: torch.Tensor = self.head(x)
        return out


def main() -> None:
    """Wrap the model, say how many units it has, and train it for a few steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank = int(os.environ["RANK"])
    logging.basicConfig(format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s", level=logging.INFO)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    model = Model()
    units: list[nn.Module] = list(model.layers) if fixed else [model.layers]
    for unit in units:
        fully_shard(unit, mesh=mesh)
    fully_shard(model, mesh=mesh)
    logging.info("FSDP units: %d", sum(isinstance(m, FSDPModule) for m in model.modules()))

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1 + rank)
    for step in range(STEPS):
        x = torch.randn(8, WIDTH)
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
