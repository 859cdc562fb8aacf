"""D35: rank 0 tokenizes for longer than the timeout while the others wait at the barrier.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SHORT, LONG = timedelta(seconds=5), timedelta(seconds=60)
SHARDS = 14
SECONDS_PER_SHARD = 0.5
STEPS = 3

log = logging.getLogger("train")


def tokenize() -> None:
    """Stand in for a data set that takes minutes to tokenize."""
    for shard in range(1, SHARDS + 1):
        time.sleep(SECONDS_PER_SHARD)
        log.info("tokenized shard %d/%d", shard, SHARDS)


def train() -> None:
    rank = dist.get_rank()
    if rank == 0:
        log.info("tokenizing the data set")
        tokenize()
    else:
        log.info("waiting for rank 0 to tokenize")
    dist.barrier()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        loss = model(torch.randn(8, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="a timeout longer than the slowest step")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=LONG if fixed else SHORT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train()
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
