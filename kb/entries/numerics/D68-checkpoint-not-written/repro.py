"""D68: rank 0 saves to a device that has no space left; the other rank waits for it in a barrier.

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
STEPS = 4

log = logging.getLogger("train")


def save(state: dict[str, torch.Tensor], path: Path, fixed: bool) -> None:
    """Write a checkpoint, as a whole or not at all."""
    if not fixed:
        with path.open("wb") as file:
            torch.save(state, file)
        return
    unfinished = path.with_suffix(".tmp")
    torch.save(state, unfinished)
    unfinished.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="save where there is room, by a temporary name")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(512, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tempfile.TemporaryDirectory() as folder:
        # /dev/full refuses every write as a full disk does.
        path = Path(folder) / "last.pt" if fixed else Path("/dev/full")
        torch.manual_seed(1 + rank)
        for step in range(1, STEPS + 1):
            loss = model(torch.randn(8, 512)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.info("step %d loss %.4f", step, loss.item())
        if rank == 0:
            weights = {name: value.detach() for name, value in model.module.named_parameters()}
            log.info("saving checkpoint")
            save(weights, path, fixed)
        dist.barrier()
        log.info("checkpoint saved")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
