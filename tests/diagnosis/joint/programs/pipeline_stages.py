"""Passes microbatches through stages, one on each rank, by send and receive."""

import logging
import math

import torch
import torch.distributed as dist
from torch import nn

log = logging.getLogger("train")
WIDTH, SIZE = 16, 4


def forward(stage: nn.Module, rank: int, world: int, batch: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(1)
    if rank == 0:
        for index in range(len(batch) // SIZE):
            dist.send(stage(batch[index * SIZE : (index + 1) * SIZE]), 1)
        return total
    for _ in range(math.ceil(len(batch) / SIZE)):
        activations = torch.empty(SIZE, WIDTH)
        dist.recv(activations, rank - 1)
        output = stage(activations)
        if rank + 1 < world:
            dist.send(output, rank + 1)
        else:
            total += output.square().mean()
    return total


@torch.no_grad()
def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    stage = nn.Linear(WIDTH, WIDTH)
    for step in range(1, 11):
        # The last batch of the data set is not full.
        total = forward(stage, rank, world, torch.randn(14 if step == 8 else 16, WIDTH))
        dist.all_reduce(total)
        if rank == 0:
            log.info("step %d loss %.4f", step, total.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
