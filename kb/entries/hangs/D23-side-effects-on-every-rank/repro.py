"""D23: every rank renames the same temporary checkpoint folder; the first wins, the others fail.

torchrun --standalone --nproc-per-node 3 repro.py [--fixed]
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
SAVE_EVERY = 2

log = logging.getLogger("train")


def save_checkpoint(output: Path, model: nn.Module, step: int, fixed: bool) -> None:
    """Write a checkpoint to a temporary folder, then give it its name."""
    rank = dist.get_rank()
    staging, final = output / f"tmp-checkpoint-{step}", output / f"checkpoint-{step}"
    staging.mkdir(exist_ok=True)
    torch.save(torch.get_rng_state(), staging / f"rng_state_{rank}.pth")
    if rank == 0:
        torch.save(model.state_dict(), staging / "model.pt")
    # Everything is written.
    dist.barrier()
    if rank == 0 or not fixed:
        staging.rename(final)
    # Nobody reads or goes on before the checkpoint has its name.
    dist.barrier()
    log.info("step %d saved %s", step, final.name)


def train(output: Path, fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        torch.manual_seed(100 * rank + step)
        loss = model(torch.randn(8, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
        if step % SAVE_EVERY == 0:
            save_checkpoint(output, model.module, step, fixed)
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="only rank 0 renames")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="d23-", ignore_cleanup_errors=True) as own:
        # The folder of rank 0 is the one that all ranks share.
        shared = [own]
        dist.broadcast_object_list(shared)
        train(Path(shared[0]), fixed)
        dist.barrier()
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
