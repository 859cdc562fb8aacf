"""D20: one rank meets a broken record and raises; its peers only see the connection close.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import json
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=6)
STEPS = 6
BAD_RANK, BAD_STEP = 1, 4

log = logging.getLogger("train")


def read_shard(rank: int) -> list[str]:
    """Return the lines of this rank's data file, one sample per step; one line of one shard was cut off."""
    lines = [json.dumps({"x": [step, rank, 1.0, 0.5], "y": float(step)}) for step in range(1, STEPS + 1)]
    if rank == BAD_RANK:
        lines[BAD_STEP - 1] = lines[BAD_STEP - 1][:17]
    return lines


def parse(line: str) -> dict[str, object] | None:
    """Return the sample of a line, or None where the line is broken."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def load_samples(rank: int, fixed: bool) -> list[str]:
    """Return the lines to train on, the same number on every rank."""
    lines = read_shard(rank)
    if not fixed:
        return lines
    good = [line for line in lines if parse(line) is not None]
    if len(good) < len(lines):
        log.warning("dropped %d broken records", len(lines) - len(good))
    count = torch.tensor(len(good))
    # All ranks must take the same number of steps.
    dist.all_reduce(count, op=dist.ReduceOp.MIN)
    return good[: int(count)]


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step, line in enumerate(load_samples(rank, fixed), start=1):
        sample = json.loads(line)
        loss = nn.functional.mse_loss(model(torch.tensor(sample["x"])), torch.tensor([sample["y"]]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="drop broken records before training")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
