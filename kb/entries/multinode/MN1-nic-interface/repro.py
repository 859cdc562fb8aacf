"""MN1: each machine's own name resolves to 127.0.1.1, so gloo tells the peer to connect to the peer's own loopback.

torchrun --nnodes 2 --node-rank I --master-addr 10.77.0.1 --master-port 29400 --nproc-per-node 1 repro.py [--fixed]

gloo waits five times the group's timeout for a connection: 10 s here, and two and a half hours by default.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=2)
STEPS = 3

log = logging.getLogger("train")


def meet() -> tuple[dist.Store, int, int]:
    """Return the store on the master port, this rank and the world size, once every rank has said where it is."""
    store, rank, world_size = next(dist.rendezvous("env://", timeout=timedelta(seconds=60)))
    store.set(f"host/{rank}", socket.gethostname())
    hosts = [store.get(f"host/{peer}").decode() for peer in range(world_size)]
    log.info("store works, ranks are on %s", ", ".join(hosts))
    return store, rank, world_size


def train(model: nn.Module, optimizer: torch.optim.Optimizer, rank: int, world_size: int) -> None:
    for step in range(1, STEPS + 1):
        loss = model(torch.full((4, 8), 0.1 * (rank + step))).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="name the interface that joins the machines")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{os.environ['RANK']}] %(levelname)s %(message)s")
    if fixed:
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    store, rank, world_size = meet()
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size, timeout=TIMEOUT)
    train(model, optimizer, rank, world_size)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
