"""M10: parameters and optimizer states go to host memory, and the host has less than the ranks of the node need.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

The sizes are those of real models, on the meta device; the kernel of a machine with 512 GB is played by a sum over the
ranks. `--fixed` builds the model once for the node instead of once for each rank, and keeps 16-bit parameters.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

HOST_GB = 512.0
STEPS = 3
log = logging.getLogger("train")


class Host:
    """The memory of the machine, as the sum of what its ranks hold."""

    def __init__(self) -> None:
        self.held = 0.0

    def take(self, what: str, size: float) -> None:
        """Add gigabytes on this rank, print what DeepSpeed's see_memory_usage prints; too much kills the last rank."""
        self.held += size
        used = torch.tensor(self.held, dtype=torch.float64)
        dist.all_reduce(used)
        percent = 100 * used.item() / HOST_GB
        if dist.get_rank() == 0:
            log.info("%s", what)
            log.info(
                "CPU Virtual Memory:  used = %.2f GB, percent = %.1f%%", min(used.item(), HOST_GB), min(percent, 99.6)
            )
        dist.barrier()
        if percent > 100 and dist.get_rank() == dist.get_world_size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)


def parameters() -> int:
    """Return how many parameters a decoder of 13 B has: 40 layers, width 5120."""
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(5120, 40, dim_feedforward=4 * 5120, bias=False)
    return 40 * sum(parameter.numel() for parameter in layer.parameters()) + 2 * 32000 * 5120


def train(fixed: bool) -> None:
    """Load, shard, offload, and step."""
    rank, world = dist.get_rank(), dist.get_world_size()
    count = parameters()
    host = Host()
    log.info("%.1f B parameters on %d ranks of one node", count / 1e9, world)
    copies = 2 * count / 1e9 if fixed else 4 * 4 * count / 1e9  # without meta init all 8 ranks load fp32; 4 each here
    host.take("model loaded", copies if not fixed or rank == 0 else 0.0)
    host.take("parameters offloaded", (2 if fixed else 4) * count / world / 1e9)
    host.take("optimizer states offloaded", 12 * count / world / 1e9)
    for step in range(1, STEPS + 1):
        dist.barrier()
        log.info("step %d done", step)


def main() -> None:
    """Run one rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="one 16-bit copy for the node while loading")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
