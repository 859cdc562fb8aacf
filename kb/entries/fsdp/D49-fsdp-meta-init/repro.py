"""D49: the model is built on the meta device and sharded; rank 0 reads the weights, the shards never get memory.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

TIMEOUT = timedelta(seconds=6)
STEPS = 3
WIDTH = 16

log = logging.getLogger("train")


class Block(nn.Module):
    """A residual block with a scale that is not saved."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("scale", torch.full((WIDTH,), 0.5), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.scale * torch.relu(self.up(x))
        return out


def build() -> nn.Sequential:
    """Return the model."""
    return nn.Sequential(Block(), Block(), nn.Linear(WIDTH, 1))


def read_checkpoint() -> dict[str, torch.Tensor]:
    """Return the weights of a pretrained model, as rank 0 reads them from its disk."""
    torch.manual_seed(7)
    return build().state_dict()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="materialise, then send rank 0's weights to all shards")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")

    with torch.device("meta"):
        model = build()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for module in model:
        fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    weights = read_checkpoint() if rank == 0 else {}
    if fixed:
        model.to_empty(device="cpu")
        for module in model:
            if isinstance(module, Block):
                module.scale.fill_(0.5)  # what no checkpoint holds
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(model, weights, options=options)
    log.info("weights read: %d tensors, parameters on %s", len(weights), next(model.parameters()).device)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        batch = torch.randn(8, WIDTH)
        loss = (model(batch) - batch.sum(dim=1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
