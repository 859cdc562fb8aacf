"""D41: the loader's workers are forked while a thread of the parent holds a lock, which no one will ever release there.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

SAMPLES, LOADER_TIMEOUT = 64, 6

log = logging.getLogger("train")


class ShardIndex:
    """Where each sample lies in the shards; a thread reads it again from time to time."""

    def __init__(self) -> None:
        self.lock, self.reading = threading.Lock(), threading.Event()
        self.offsets: dict[int, int] = {}
        threading.Thread(target=self.refresh, daemon=True).start()
        self.reading.wait()

    def refresh(self) -> None:
        with self.lock:
            self.reading.set()
            time.sleep(1.5)  # Reads the index from shared storage.
            self.offsets = {sample: 10 * sample for sample in range(SAMPLES)}

    def offset(self, sample: int) -> int:
        with self.lock:
            return self.offsets[sample]


class Shards(Dataset):
    """Samples of shards that are found with the index."""

    def __init__(self, fixed: bool) -> None:
        self.index = None if fixed else ShardIndex()

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, sample: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.index is None:
            # Made in the worker itself: the thread lives where the lock is.
            self.index = ShardIndex()
        inputs = torch.full((8,), float(self.index.offset(sample)) / SAMPLES)
        return inputs, inputs.sum(0, keepdim=True)


def train(fixed: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    log.info("model ready")
    data = Shards(fixed)
    sampler: DistributedSampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=2, timeout=LOADER_TIMEOUT)
    for step, (inputs, targets) in enumerate(loader, start=1):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="make the index, its lock and its thread in each worker")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=12))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        train(fixed)
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
