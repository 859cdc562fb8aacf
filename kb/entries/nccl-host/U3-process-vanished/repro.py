"""U3: a rank is killed with SIGKILL, as the kernel does when the memory limit is reached, and says nothing.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
from collections import deque
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=6)
STEPS = 8
LIMIT_BYTES = 6 << 20
"""The memory limit of the job's container."""

log = logging.getLogger("train")


def decode(step: int, rank: int) -> torch.Tensor:
    """Return one decoded sample; those of rank 1 are larger."""
    return torch.full((1 + rank, 512, 512), float(step)) / 512


def kernel_looks(used: int) -> None:
    """Kill this process where the kernel would: no handler runs and nothing is printed."""
    if used > LIMIT_BYTES:
        os.kill(os.getpid(), signal.SIGKILL)


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    cache: deque[torch.Tensor] = deque(maxlen=2 if fixed else None)  # without a bound it keeps every sample
    for step in range(1, STEPS + 1):
        cache.append(decode(step, rank))
        kernel_looks(sum(sample.nbytes for sample in cache))
        loss = model(cache[-1]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="bound the cache of decoded samples")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
