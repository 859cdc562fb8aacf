"""Single-process settings on two processes: twice the batch, half the optimizer steps, the old learning rate.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` scales the learning rate.
Nothing crashes by itself: the script compares the end loss with a single-process run and stops if behind.
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

SAMPLES, EPOCHS, PER_PROCESS_BATCH, BASE_LR = 512, 4, 8, 0.01


def fit(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float, rank: int, world: int) -> int:
    """Trains on this rank's share of the samples; returns the number of optimizer steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    steps = 0
    for epoch in range(EPOCHS):
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))[rank::world]
        for ids in order.split(PER_PROCESS_BATCH):
            loss = mse_loss(model(x[ids]), y[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    return steps


def report(name: str, model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> float:
    """Logs and returns the loss over the whole data set."""
    with torch.no_grad():
        loss = mse_loss(model(x), y).item()
    logging.info("%s: %d optimizer steps in %d epochs, loss %.4f", name, steps, EPOCHS, loss)
    return loss


def train(rank: int, world: int, fixed: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(SAMPLES, 16)
    y = x @ torch.randn(16, 1)
    single = nn.Linear(16, 1)
    start = {name: value.clone() for name, value in single.state_dict().items()}
    baseline = report("1 process", single, x, y, fit(single, x, y, BASE_LR, 0, 1))

    net = nn.Linear(16, 1)
    net.load_state_dict(start)
    lr = BASE_LR * world if fixed else BASE_LR
    batch = PER_PROCESS_BATCH * world
    logging.info("effective batch %d (%d per process x %d), lr %g", batch, PER_PROCESS_BATCH, world, lr)
    steps = fit(DistributedDataParallel(net), x, y, lr, rank, world)
    loss = report(f"{world} processes", net, x, y, steps)
    if loss > 2 * baseline + 1e-3:
        raise RuntimeError(f"loss {loss:.4f} after the same epochs, single-process run {baseline:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="scale the learning rate with the batch")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    try:
        train(rank, dist.get_world_size(), fixed)
        logging.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
