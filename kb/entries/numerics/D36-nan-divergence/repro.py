"""D36: one broken sample on one rank makes the loss infinite there, and the all-reduce carries the NaN to every rank.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import math
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 8
BROKEN_STEP, BROKEN_RANK = 4, 1
log = logging.getLogger("train")


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (16, 8) and targets (16, 1); one file holds a value that overflowed when it was written."""
    generator = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(16, 8, generator=generator)
    targets = inputs.sum(dim=1, keepdim=True)
    if (step, rank) == (BROKEN_STEP, BROKEN_RANK):
        inputs[3, 5] = float("inf")
    return inputs, targets


def all_finite(loss: torch.Tensor) -> bool:
    """Whether the loss is finite on every rank, so that all of them take the same decision."""
    bad = (~torch.isfinite(loss.detach())).float()
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    return not bad.item()


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    for step in range(1, STEPS + 1):
        inputs, targets = batch(step, rank)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        if fixed and not all_finite(loss):
            log.info("step %d left out on all ranks, the batch of a rank is broken", step)
            continue
        loss.backward()
        optimizer.step()
        broken = sum(int((~torch.isfinite(parameter)).sum()) for parameter in model.parameters())
        log.info("step %d loss %.4f, %d of 9 parameters are not finite", step, loss.item(), broken)
        if step > BROKEN_STEP and not math.isfinite(loss.item()):
            raise RuntimeError(f"loss is nan at step {step}, and stays so on every rank")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--fixed", action="store_true", help="leave a step out on all ranks when any loss is not finite"
    )
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=10))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        train(fixed)
        log.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
