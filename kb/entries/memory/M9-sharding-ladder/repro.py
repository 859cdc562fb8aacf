"""M9: a model that fits many times over is sharded as if it did not, and every micro batch pays for it.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Nothing crashes by itself: the script adds up what it sends in one optimizer step, and stops where that is out of
proportion to the memory that sharding saves. `--fixed` steps down to DDP.
"""

from __future__ import annotations

import argparse
import logging
from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

GPU_BYTES = 80e9
ACCUMULATE = 4
WIDTH = 256
log = logging.getLogger("train")


class Traffic(TorchDispatchMode):
    """Adds up the bytes of what the process group is asked to move."""

    def __init__(self) -> None:
        super().__init__()
        self.moved = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name()
        if name in ("c10d::_allgather_base_", "c10d::_reduce_scatter_base_"):
            self.moved += max(args[0].nbytes, args[1].nbytes)
        elif name == "c10d::allreduce_":
            self.moved += 2 * sum(tensor.nbytes for tensor in args[0])  # a reduce-scatter and an all-gather
        return func(*args, **(kwargs or {}))


def build(fixed: bool) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(8)))
    if fixed:
        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def optimizer_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for micro in range(ACCUMULATE):
        last = micro == ACCUMULATE - 1
        with nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync():
            model(torch.randn(4, WIDTH)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def train(fixed: bool) -> None:
    model = build(fixed)
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 4):
        with Traffic() as traffic:
            optimizer_step(model, optimizer)
        times = traffic.moved / weights
        log.info(
            "step %d moves %.1f times the model, states %.4f of %.0f GB", step, times, weights / 250e6, GPU_BYTES / 1e9
        )
        if times > 3 and 4 * weights < 0.5 * GPU_BYTES:
            raise RuntimeError(
                f"each optimizer step moves {times:.1f} times the model, DDP would move 2.0 times and fits easily"
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="step down to DDP")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=10))
    level = logging.INFO if dist.get_rank() == 0 else logging.WARNING
    logging.basicConfig(level=level, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        train(fixed)
        log.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
