"""D40: the last batch of one rank is shorter, so this rank alone compiles once more while the other waits.

TORCH_LOGS=recompiles torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=3)
COMPILE_SECONDS = 5.0
BATCHES = {0: [8, 8, 8], 1: [8, 8, 5]}
"""Rows of each rank's batches: 48 samples do not divide evenly."""

log = logging.getLogger("train")


def slow_backend(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Callable[..., object]:
    """Takes the time that Inductor takes for a large model, and runs the graph as it is."""
    log.info("compiling %d nodes", len(graph.graph.nodes))
    time.sleep(COMPILE_SECONDS)
    return graph.forward


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train(rank: int, *, fixed: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    # With dynamic=True the number of rows is a symbol, and one graph serves all batches.
    forward = torch.compile(model, backend=slow_backend, dynamic=fixed)
    # The first compilation takes long on both ranks and has a group with a longer timeout.
    patient = dist.new_group(timeout=timedelta(seconds=60))
    forward(torch.zeros(8, 4))
    dist.barrier(group=patient)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, rows in enumerate(BATCHES[rank], start=1):
        inputs = torch.randn(rows, 4, generator=torch.Generator().manual_seed(10 * step + rank))
        loss = nn.functional.mse_loss(forward(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        average_gradients(model)
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f rows %d", step, loss.item(), rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="compile for any number of rows")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    train(rank, fixed=fixed)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
