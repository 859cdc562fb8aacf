"""Reads shards that another job writes; one that it has not finished yet is waited for."""

import logging
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def fetch(path: Path) -> torch.Tensor:
    while True:
        try:
            return torch.load(path)
        except FileNotFoundError:
            time.sleep(1.0)


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    shards = Path("shards")
    if rank == 0:
        shards.mkdir(exist_ok=True)
        for number in range(3 * world - 1):
            torch.save(torch.randn(32, 8), shards / f"{number}.pt")
    dist.barrier()
    model = DistributedDataParallel(nn.Linear(8, 1))
    for turn in range(3):
        for batch in fetch(shards / f"{turn * world + rank}.pt").split(8):
            loss = model(batch).square().mean()
            loss.backward()
            model.zero_grad()
            if rank == 0:
                log.info("shard %d loss %.4f", turn, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
