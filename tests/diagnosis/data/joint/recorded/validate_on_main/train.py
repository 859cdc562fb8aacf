"""Trains a small classifier; the main process validates now and then."""

import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


@torch.no_grad()
def evaluate(model: nn.Module) -> float:
    total = torch.zeros(1)
    for seed in range(4):
        inputs = torch.randn(16, 32, generator=torch.Generator().manual_seed(seed))
        total += model(inputs).square().mean()
    dist.barrier()
    return total.item() / 4


def main() -> None:
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    model = DistributedDataParallel(nn.Linear(32, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 101):
        loss = model(torch.randn(16, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % 5 == 0 and rank == 0:
            log.info("validation loss %.4f", evaluate(model.module))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
