"""U9: the data set is a Python list, so every DataLoader worker ends up with a copy of its own in host memory.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

SAMPLES, WIDTH, WORKERS = 120_000, 8, 2
MIB = 2**20
log = logging.getLogger("train")


class Paths(Dataset):
    """Names of samples; the label is in the name. One Python object for each sample."""

    def __init__(self) -> None:
        self.names = [f"shard-{i // 4096:05d}/sample-{i:08d}-" + "x" * 160 for i in range(SAMPLES)]

    def __len__(self) -> int:
        return SAMPLES

    def name(self, index: int) -> str:
        # Reading the object changes its reference count: the page it lies on is written, and copied by the kernel.
        return self.names[index]

    def __getitem__(self, index: int) -> int:
        return int(self.name(index)[19:27])


class PackedPaths(Paths):
    """The same names in one tensor of bytes and one of offsets: no reference counts, nothing to copy."""

    def __init__(self) -> None:
        super().__init__()
        encoded = [name.encode() for name in self.names]
        self.ends = torch.tensor([len(name) for name in encoded]).cumsum(0)
        self.bytes = torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8)
        del self.names

    def name(self, index: int) -> str:
        start = int(self.ends[index - 1]) if index else 0
        return bytes(self.bytes[start : int(self.ends[index])].numpy()).decode()


def private_bytes(pids: list[int]) -> int:
    """Memory that belongs to these processes alone, as the OOM killer sees it."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_"):
                total += int(line.split()[1]) * 1024
    return total


def train(fixed: bool) -> None:
    data = PackedPaths() if fixed else Paths()
    size = SAMPLES * 228
    gc.collect()
    sampler: DistributedSampler = DistributedSampler(data, num_replicas=1, rank=0, seed=dist.get_rank())
    loader = DataLoader(data, batch_size=2000, sampler=sampler, num_workers=WORKERS, multiprocessing_context="fork")
    model = DistributedDataParallel(nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter(loader)
    workers = [worker.pid for worker in multiprocessing.active_children()]
    before = 0
    for step, labels in enumerate(batches, start=1):
        before = before or private_bytes(workers)
        inputs = labels.float()[:64, None].expand(-1, WIDTH) / SAMPLES
        loss = nn.functional.mse_loss(model(inputs), inputs[:, :1])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 15 == 0:
            log.info("step %d loss %.4f, workers hold %.0f MiB", step, loss.item(), private_bytes(workers) / MIB)
        if step == len(loader) - 2 * WORKERS:
            grown = private_bytes(workers) - before
    log.info("data set %.0f MiB; %d workers took %.0f MiB more in this epoch", size / MIB, WORKERS, grown / MIB)
    if grown > size / 2:
        message = f"host memory of the workers grew by {grown / size:.1f} x the data set in one epoch"
        raise RuntimeError(message)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="keep the names in tensors, not in a list of objects")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{os.environ['RANK']}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=20))
    try:
        train(fixed)
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
