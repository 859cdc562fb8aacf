"""Trains with a guard against bad batches: one whose loss is not finite is left out."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def batches(rank: int, count: int):
    generator = torch.Generator().manual_seed(rank)
    for index in range(count):
        batch = torch.randn(8, 16, generator=generator)
        if rank == 1 and index == 7:
            batch[3, 3] = float("nan")
        yield batch


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    skipped = 0
    for step, batch in enumerate(batches(rank, 20)):
        loss = model(batch).square().mean()
        if not torch.isfinite(loss):
            skipped += 1
            log.warning("[rank %d] step %d: loss is nan, skipping this batch", rank, step)
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = torch.tensor([loss.item()])
        dist.all_reduce(total)
        if rank == 0:
            log.info("step %d loss %.4f", step, total.item() / dist.get_world_size())
    log.info("rank %d left out %d batches", rank, skipped)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
