"""Reads samples in worker processes; a cache in the dataset is guarded by a lock."""

import logging
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train")
LOCK = threading.Lock()
CACHE: dict[int, torch.Tensor] = {}


def refresh_cache() -> None:
    while True:
        with LOCK:
            CACHE.clear()
            time.sleep(0.5)


class Samples(Dataset[torch.Tensor]):
    """Sixty-four samples."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        with LOCK:
            return CACHE.setdefault(index, torch.full((8,), float(index)))


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    model = DistributedDataParallel(nn.Linear(8, 1))
    threading.Thread(target=refresh_cache, daemon=True).start()
    time.sleep(0.2)
    for epoch in range(2):
        log.info("[rank %d] epoch %d begins", rank, epoch)
        for batch in DataLoader(Samples(), batch_size=4, num_workers=2, multiprocessing_context="fork"):
            model(batch).square().mean().backward()
        log.info("[rank %d] epoch %d is done", rank, epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
