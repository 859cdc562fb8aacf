"""MN4: the hosts send jumbo frames into a network that carries 1500 bytes; large tensors never arrive.

torchrun --nnodes 2 --node-rank I --master-addr 10.77.0.1 --master-port 29400 --nproc-per-node 1 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=7)
STEPS = 4

log = logging.getLogger("train")


class Net(nn.Module):
    """A small head on a larger body: 1 KiB of gradient here, 256 KiB there."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(512, 128)
        self.head = nn.Linear(128, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.body(inputs).relu())
        return result


def average(name: str, gradient: torch.Tensor) -> None:
    """Average one gradient over the ranks."""
    size = gradient.numel() * gradient.element_size()
    log.info("all_reduce %s, %d bytes", name, size)
    dist.all_reduce(gradient)
    gradient /= dist.get_world_size()


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    rank = dist.get_rank()
    for step in range(1, STEPS + 1):
        loss = model(torch.full((4, 512), 0.01 * (rank + step))).square().mean()
        loss.backward()
        for name, parameter in reversed(list(model.named_parameters())):
            average(name, parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="see network.sh: the repair is the MTU of the interfaces")
    parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{os.environ['RANK']}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    log.info("eth0 has mtu %s", Path("/sys/class/net/eth0/mtu").read_text().strip())
    dist.init_process_group("gloo", timeout=TIMEOUT)
    train(model, optimizer)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
