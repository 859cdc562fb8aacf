"""BatchNorm statistics that belong to one rank only: equal weights, another validation loss on every rank.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` averages the statistics first.
Nothing crashes by itself: the script compares the ranks' validation losses and stops if they differ.
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

STEPS = 20


def average_running_stats(model: nn.Module) -> None:
    """Gives every rank the mean of all ranks' running statistics; a collective, so every rank calls it."""
    for name, buffer in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            dist.all_reduce(buffer)
            buffer.div_(dist.get_world_size())


@torch.no_grad()
def validation_loss(model: nn.Module) -> float:
    """Loss on a fixed set that is the same on every rank."""
    model.eval()
    data = torch.Generator().manual_seed(7)
    x = torch.randn(256, 16, generator=data)
    target = x.sum(dim=1, keepdim=True)
    return mse_loss(model(x), target).item()


def train(rank: int, fixed: bool) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.Generator().manual_seed(100 + rank)
    for step in range(STEPS):
        x = torch.randn(4, 16, generator=data) + 0.5 * rank  # each rank's shard has its own distribution
        loss = mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            logging.info("step %d loss %.4f", step, loss.item())
    if fixed:
        average_running_stats(net)
    mine = validation_loss(net)
    logging.info("validation loss %.4f", mine)
    losses: list[float | None] = [None] * dist.get_world_size()
    dist.all_gather_object(losses, mine)
    if max(abs(other - mine) for other in losses if other is not None) > 1e-3:
        raise RuntimeError(f"validation loss differs between ranks: {losses}; check running_mean")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="average the running statistics of the ranks")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    try:
        train(rank, fixed)
        logging.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
