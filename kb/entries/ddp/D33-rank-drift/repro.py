"""D33: the loss is computed through `model.module`, past DDP, so no gradient is averaged and the copies drift apart.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
Nothing fails by itself: the script compares the weights of the ranks after each epoch.
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

EPOCHS, STEPS = 2, 10

log = logging.getLogger("train")


class Regressor(nn.Module):
    """A model that also knows how to compute its own loss, as many codebases have it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.net(inputs)

    def compute_loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(self(inputs), targets)


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (8, 8) and targets (8, 1) of one step; every rank has its own."""
    generator = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(8, 8, generator=generator)
    return inputs, inputs.sum(dim=1, keepdim=True)


@torch.no_grad()
def weight_difference(model: nn.Module) -> float:
    """Return the largest difference between any weight on this rank and the same weight on rank 0."""
    mine = torch.cat([p.flatten() for p in model.parameters()])
    theirs = mine.clone()
    dist.broadcast(theirs, src=0)
    largest = (mine - theirs).abs().max()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return float(largest)


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(rank)  # Harmless: the constructor of DDP sends rank 0's weights to all.
    model = DistributedDataParallel(Regressor())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(EPOCHS):
        for step in range(STEPS):
            inputs, targets = batch(epoch * STEPS + step, rank)
            if fixed:
                loss = nn.functional.mse_loss(model(inputs), targets)
            else:
                loss = model.module.compute_loss(inputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        difference = weight_difference(model)
        log.info("epoch %d loss %.4f largest weight difference to rank 0: %.2e", epoch, loss.item(), difference)
        if difference > 1e-6:
            raise RuntimeError(f"the weights differ between ranks by up to {difference:.2e} after epoch {epoch}")
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="call the wrapped model, so that DDP sees the forward")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        train(fixed)
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
