"""Trains on a list of samples that is cut into one slice per rank."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

log = logging.getLogger("train")


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    samples = [torch.full((8,), float(i)) for i in range(100)]
    mine = samples[rank::world]
    loader = DataLoader(mine, batch_size=3, shuffle=True)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    log.info("[rank %d] training begins", rank)
    for epoch in range(3):
        for batch in loader:
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        dist.barrier()
        if rank == 0:
            log.info("epoch %d loss %.4f", epoch, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
