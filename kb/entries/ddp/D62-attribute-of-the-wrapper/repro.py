"""D62: the model's own method is called on the DDP wrapper, which does not have it.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=6)
STEPS = 3

log = logging.getLogger("train")


class Scorer(nn.Module):
    """A small model that can say how large it is."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def describe(self) -> str:
        """The number of parameters as a text."""
        return f"{sum(p.numel() for p in self.parameters())} parameters"

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map rows of eight numbers to a score."""
        scores: torch.Tensor = self.net(inputs)
        return scores


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="ask the model inside the wrapper")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(Scorer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    owner = model.module if fixed else model
    log.info("trained a model of %s", owner.describe())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
