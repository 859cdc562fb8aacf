"""Trains a small model sharded with `fully_shard`, in bf16 with its norms kept in fp32.

As it stands, one FSDP group holds two parameter dtypes and the first forward fails on every rank.
With `--fixed` all weights are fp32 and the mixed-precision policy casts to bf16 for compute.
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
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

STEPS = 4


class Block(nn.Module):
    """A residual block: norm, then two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        hidden = torch.relu(self.up(self.norm(x).to(self.up.weight.dtype)))
        out: torch.Tensor = x + self.down(hidden)
        return out


def build(fixed: bool) -> nn.Sequential:
    """Return the model with its weights in the dtypes that the optimizer will update."""
    model = nn.Sequential(*(Block(32) for _ in range(2)))
    if fixed:
        return model.float()
    model.bfloat16()
    for block in model:
        block.norm.float()
    return model


def main() -> None:
    """Shard the model over all ranks and train it for a few steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank = int(os.environ["RANK"])
    logging.basicConfig(format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s", level=logging.INFO)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    model = build(fixed)
    torch.manual_seed(1 + rank)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    logging.info("parameter dtypes: %s", sorted({str(p.dtype) for p in model.parameters()}))

    for step in range(STEPS):
        x = torch.randn(8, 32)
        loss = (model(x).float() - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
