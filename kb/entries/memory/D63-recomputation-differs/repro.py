"""D63: a checkpointed block drops its gate by Python's random numbers, which the recomputation draws anew.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import random
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

TIMEOUT = timedelta(seconds=6)
STEPS = 12
WIDTH = 16

log = logging.getLogger("train")


class Block(nn.Module):
    """A layer that sometimes gates its input, to regularise."""

    def __init__(self) -> None:
        super().__init__()
        self.ff = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor, gated: bool | None) -> torch.Tensor:
        """Transform the vectors; `gated` says what the caller decided, None that the block decides."""
        if random.random() < 0.5 if gated is None else gated:
            hidden = hidden * torch.sigmoid(hidden)
        out: torch.Tensor = hidden + torch.tanh(self.ff(hidden))
        return out


class Model(nn.Module):
    """Checkpointed blocks and a head."""

    def __init__(self, fixed: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.head = nn.Linear(WIDTH, 1)
        self.fixed = fixed

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map vectors to a number each."""
        hidden = inputs
        for block in self.blocks:
            # Drawn here the decision is an argument, and the recomputation gets the same one.
            gated = random.random() < 0.5 if self.fixed else None
            hidden = checkpoint(block, hidden, gated, use_reentrant=False)
        out: torch.Tensor = self.head(hidden)
        return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="decide outside of the checkpointed block")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    random.seed(0)
    model = DistributedDataParallel(Model(fixed))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, WIDTH)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
