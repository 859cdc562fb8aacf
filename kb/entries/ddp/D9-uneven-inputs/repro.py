"""Each rank streams a shard of its own length: the short rank leaves the epoch early and the other waits.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` wraps the loop in DDP's join context.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

SHARD_SIZES = (48, 64)  # samples in the file that belongs to rank 0 and rank 1
BATCH = 8


class Shard(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """The samples of one rank's file, read in order."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        data = torch.Generator().manual_seed(100 + self.rank)
        for _ in range(SHARD_SIZES[self.rank]):
            yield torch.randn(16, generator=data), torch.randint(0, 4, (1,), generator=data)[0]


def train(rank: int, fixed: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Shard(rank), batch_size=BATCH)
    with model.join() if fixed else nullcontext():
        for step, (x, target) in enumerate(loader):
            loss = cross_entropy(model(x), target)
            logging.info("epoch 0 step %d loss %.4f", step, loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    logging.info("epoch 0 finished after %d batches, waiting for the other ranks", step + 1)
    dist.barrier()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="let a rank without data answer for the others")
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
