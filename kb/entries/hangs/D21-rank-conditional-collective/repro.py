"""D21: rank 0 validates and calls a barrier that the other ranks never reach.

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
STEPS = 6
VALIDATE_EVERY = 3

log = logging.getLogger("train")


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (8, 4) and targets (8, 1) of one step."""
    generator = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(8, 4, generator=generator)
    return inputs, inputs.sum(dim=1, keepdim=True)


@torch.no_grad()
def validate(model: nn.Module) -> float:
    inputs, targets = batch(step=0, rank=99)
    return float(nn.functional.mse_loss(model(inputs), targets))


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(1, STEPS + 1):
        inputs, targets = batch(step, rank)
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
        if step % VALIDATE_EVERY == 0:
            if rank == 0:
                log.info("step %d validation loss %.4f", step, validate(model.module))
                if not fixed:
                    # Only rank 0 gets here.
                    dist.barrier()
            if fixed:
                dist.barrier()
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="every rank calls the barrier")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
