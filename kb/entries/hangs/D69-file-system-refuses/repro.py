"""D69: the ranks prepare a cache folder in a place that they may not write.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=6)
STEPS = 3
# Nobody may make folders here, root included: it stands for a cache that belongs to somebody else.
NOT_OURS = Path("/sys/kernel/shared-cache")

log = logging.getLogger("train")


def tokenized(cache: Path, rank: int) -> torch.Tensor:
    """The samples of a rank, kept in the cache for the next start."""
    folder = cache / f"rank{rank}"
    for place in (cache, folder):
        place.mkdir(exist_ok=True)
    torch.manual_seed(1 + rank)
    samples = torch.randn(64, 8)
    torch.save(samples, folder / "samples.pt")
    return samples


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="use a cache that this user may write")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) if fixed else NOT_OURS
        log.info("tokenizing into %s", cache)
        samples = tokenized(cache, rank)
        for step, inputs in enumerate(samples.split(16)[:STEPS], start=1):
            loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
