"""Trains with a group of experts beside the group of all ranks."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")
EXPERTS = 2


def build_groups(rank: int, world: int) -> dist.ProcessGroup | None:
    group = None
    if rank == 0:
        group = dist.new_group(list(range(EXPERTS)))
    log.info("rank %d of %d has its groups", rank, world)
    return group


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    log.info("rank %d of %d is up", rank, world)
    group = build_groups(rank, world)
    model = DistributedDataParallel(nn.Linear(8, 1))
    for step in range(1, 11):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        model.zero_grad()
        if group is not None:
            dist.all_reduce(torch.ones(1), group=group)
        log.info("[rank %d] step %d loss %.4f", rank, step, loss.item())
    saving = dist.new_group()
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
    dist.barrier(group=saving)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
