"""D51: every rank stops early by its own validation loss, so one leaves the loop before the others.

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

TIMEOUT = timedelta(seconds=5)
EPOCHS, STEPS, PATIENCE = 12, 4, 2

log = logging.getLogger("train")


class EarlyStopping:
    """Says when the loss has not improved for `patience` epochs."""

    def __init__(self, patience: int) -> None:
        self.patience, self.best, self.bad_epochs = patience, float("inf"), 0

    def update(self, loss: float) -> bool:
        self.bad_epochs = 0 if loss < self.best - 0.02 else self.bad_epochs + 1
        self.best = min(self.best, loss)
        return self.bad_epochs >= self.patience


def batch(seed: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (16, 4) and targets (16, 1)."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(16, 4, generator=generator)
    return inputs, inputs.sum(1, keepdim=True) + noise * torch.randn(16, 1, generator=generator)


@torch.no_grad()
def validate(model: DistributedDataParallel, rank: int) -> torch.Tensor:
    """Return the loss on this rank's part of the validation set; the part of rank 1 is noisy."""
    inputs, targets = batch(7000 + rank, noise=3.0 * rank)
    return nn.functional.mse_loss(model.module(inputs), targets)


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stopping = EarlyStopping(PATIENCE)
    for epoch in range(1, EPOCHS + 1):
        for step in range(STEPS):
            inputs, targets = batch(1000 * rank + 10 * epoch + step, noise=0.3)
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val_loss = validate(model, rank)
        if fixed:
            # One number for all ranks: all of them decide the same.
            dist.all_reduce(val_loss)
            val_loss /= dist.get_world_size()
        log.info("epoch %d val_loss %.4f", epoch, val_loss.item())
        if stopping.update(val_loss.item()):
            log.info("early stopping triggered at epoch %d, best val_loss %.4f", epoch, stopping.best)
            break
    dist.barrier()
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="reduce the validation loss over the ranks")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
