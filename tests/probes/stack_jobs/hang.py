"""A job that hangs in the way that its first argument names; every rank leaves a file when it is about to."""

# ruff: noqa: TID253, D103 - a training script imports torch
from __future__ import annotations

import datetime
import faulthandler
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

MODE, READY = sys.argv[1], Path(sys.argv[2])
RANK = int(os.environ["RANK"])


class Numbers(Dataset[int]):
    """Gives numbers; on rank 1 the second one takes as long as the test wants."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if RANK == 1 and index == 1:
            ready()
            time.sleep(120)
        return index


def ready() -> None:
    (READY / str(RANK)).touch()


def save_checkpoint() -> None:
    ready()
    time.sleep(120)


def train() -> None:
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    loader = DataLoader(Numbers(), batch_size=1, num_workers=1, prefetch_factor=2)
    for step, _ in enumerate(loader if MODE == "loader" else range(10**9)):
        if MODE == "loader" and step == 1:
            ready()
        model(torch.ones(2, 4)).sum().backward()
        if MODE == "moving":
            time.sleep(0.003 * (step % 3))
        if step == 3 and MODE == "save" and RANK == 1:
            save_checkpoint()
        if step == 3 and MODE == "barrier" and RANK == 0:
            ready()
            dist.barrier()
        if step == 3:
            ready()
        dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    if os.environ.get("DISTKB_SERVE"):
        from distkb_probes import live

        live.serve()
    faulthandler.register(signal.SIGUSR1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
    train()
