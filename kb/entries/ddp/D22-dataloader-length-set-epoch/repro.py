"""A shuffling sampler that is never told the epoch: every epoch sees the samples in the same order.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` calls `set_epoch` before each epoch.
Nothing crashes by itself: the script checks the order and stops with an error if an epoch repeats one.
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = 3
SAMPLES = 64


def run_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> tuple[list[int], float]:
    """One epoch; returns the sample ids in the order in which this rank saw them, and the mean loss."""
    seen: list[int] = []
    total = 0.0
    for ids, x, target in loader:
        loss = cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += ids.tolist()
        total += loss.item()
    return seen, total / len(loader)


def train(fixed: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(SAMPLES, 16)
    data = TensorDataset(torch.arange(SAMPLES), x, torch.randint(0, 4, (SAMPLES,)))
    sampler: DistributedSampler = DistributedSampler(data, shuffle=True, seed=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    previous: list[int] | None = None
    for epoch in range(EPOCHS):
        if fixed:
            sampler.set_epoch(epoch)
        order, loss = run_epoch(model, optimizer, loader)
        logging.info("epoch %d loss %.4f first samples %s", epoch, loss, order[:6])
        if order == previous:
            raise RuntimeError(f"epoch {epoch} has the same sample order as epoch {epoch - 1}")
        previous = order


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="tell the sampler which epoch it is")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    try:
        train(fixed)
        logging.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
