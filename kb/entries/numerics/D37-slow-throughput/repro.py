"""D37: one rank decodes its data from slow storage in every step, and the all-reduce makes all ranks as slow.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Nothing crashes by itself: every rank times its own work without the wait for its peers, the script compares the
ranks, and stops where one of them holds up the others. `--fixed` copies the rank's files to local storage first.
"""

from __future__ import annotations

import argparse
import logging
import time
from datetime import timedelta
from statistics import median

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 6
READ_SECONDS = 0.4
"""What one batch takes from the congested file server; a local disk answers at once."""
log = logging.getLogger("train")


class Shard:
    """The samples of one rank; those of rank 1 lie on a file server."""

    def __init__(self, rank: int, *, copied: bool) -> None:
        self.rank, self.slow = rank, rank == 1 and not copied

    def read(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs (32, 64) and targets (32, 1)."""
        if self.slow:
            time.sleep(READ_SECONDS)
        generator = torch.Generator().manual_seed(1000 * self.rank + step)
        inputs = torch.randn(32, 64, generator=generator)
        return inputs, inputs.mean(dim=1, keepdim=True)


def compare(step: int, own: float, total: float) -> tuple[float, float]:
    """Log what the ranks needed for themselves; return the seconds of the slowest and of the quickest."""
    seconds: list[float] = [0.0] * dist.get_world_size()
    dist.all_gather_object(seconds, own)
    slowest = max(range(len(seconds)), key=seconds.__getitem__)
    shown = " ".join(f"rank{rank}={value:.3f}s" for rank, value in enumerate(seconds))
    log.info("step %d took %.3f s, own work %s, slowest rank %d", step, total, shown, slowest)
    return seconds[slowest], min(seconds)


def train(fixed: bool) -> None:
    """Train some steps; raise when one rank determines the speed of all."""
    rank = dist.get_rank()
    torch.manual_seed(0)
    data = Shard(rank, copied=fixed)
    model = DistributedDataParallel(nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    times = []
    for step in range(1, STEPS + 1):
        start = time.perf_counter()
        inputs, targets = data.read(step)
        loss = nn.functional.mse_loss(model(inputs), targets)
        own = time.perf_counter() - start
        loss.backward()  # waits here for the slowest rank
        optimizer.step()
        optimizer.zero_grad()
        times.append(compare(step, own, time.perf_counter() - start))
    slow, quick = (median(values) for values in zip(*times, strict=True))
    if slow - quick > READ_SECONDS / 2:
        times_as_long = slow / max(quick, 0.01)
        raise RuntimeError(f"a rank takes {times_as_long:.0f} times as long as the quickest, and all wait for it")


def main() -> None:
    """Run one rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="read from local storage on every rank")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
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
