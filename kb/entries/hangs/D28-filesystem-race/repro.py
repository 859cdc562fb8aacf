"""D28: rank 0 builds an index file, and the other ranks read it as soon as it exists, half written.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=10)
INDEX = Path("cache/index.jsonl.gz")
DOCUMENTS = 6

log = logging.getLogger("train")


def build_index(path: Path) -> None:
    """Writes one line per document while it goes through them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        for document in range(DOCUMENTS):
            file.write(json.dumps({"document": document, "length": 8 + document}) + "\n")
            file.flush()
            time.sleep(0.4)
    log.info("index written: %s", path)


def read_index(path: Path) -> list[dict[str, int]]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def load_index(path: Path, rank: int, *, fixed: bool) -> list[dict[str, int]]:
    if rank == 0:
        # A file that is renamed into place is whole from the moment it can be seen.
        target = path.with_suffix(".tmp") if fixed else path
        build_index(target)
        if fixed:
            target.replace(path)
    if fixed:
        dist.barrier()
    while not path.exists() or path.stat().st_size == 0:
        time.sleep(0.1)
    return read_index(path)


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train(lengths: list[int], rank: int) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    for step, length in enumerate(lengths, start=1):
        inputs = torch.randn(length, 4, generator=torch.Generator().manual_seed(10 * step + rank))
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        average_gradients(model)
        log.info("step %d loss %.4f", step, loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="rename the finished file into place, and wait for it")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    index = load_index(INDEX, rank, fixed=fixed)
    log.info("index of %d documents read", len(index))
    train([entry["length"] for entry in index], rank)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
