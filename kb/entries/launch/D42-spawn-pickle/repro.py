"""D42: the function given to mp.spawn is a local one, which cannot be sent to the new processes.

python repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import socket
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORLD_SIZE = 2

log = logging.getLogger("train")


@dataclass(frozen=True)
class Config:
    """What the command line says."""

    port: int
    steps: int = 3
    rate: float = 0.05


def train(rank: int, config: Config) -> None:
    """One rank's training."""
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    address = f"tcp://127.0.0.1:{config.port}"
    dist.init_process_group("gloo", address, timedelta(seconds=15), rank=rank, world_size=WORLD_SIZE)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config.rate)
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, config.steps + 1):
        inputs = torch.randn(8, 4, generator=generator)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="spawn a function of the module and pass what it needs")
    fixed = parser.parse_args().fixed
    config = Config(port=free_port())

    def worker(rank: int) -> None:
        # It takes `config` from around it, so it is no function of the module.
        train(rank, config)

    if fixed:
        mp.spawn(train, args=(config,), nprocs=WORLD_SIZE)
    else:
        mp.spawn(worker, nprocs=WORLD_SIZE)


if __name__ == "__main__":
    main()
