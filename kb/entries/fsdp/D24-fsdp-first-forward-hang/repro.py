"""D24: rank 1's folder holds no data, so it waits for its first batch while rank 0 waits in FSDP's first all-gather.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import json
import logging
import queue
import threading
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

TIMEOUT = timedelta(seconds=5)
FILES = 4
STEPS = 4
WIDTH = 16

log = logging.getLogger("train")


class Block(nn.Module):
    """A residual block, one FSDP unit."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.down(torch.relu(self.up(x)))
        return out


def write_shards(folder: Path) -> None:
    """Write the data set as one host would find it: a handful of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(FILES):
        (folder / f"part-{index}.json").write_text(json.dumps({"seed": index}))


def my_files(folder: Path, rank: int, world_size: int, fixed: bool) -> list[Path]:
    """Return the files that this rank reads."""
    if not fixed:
        # Made for a data set with one sub-folder per rank; this one has only the folder of rank 0.
        return sorted((folder / f"rank{rank}").glob("*.json"))
    files = sorted(folder.glob("rank*/*.json"))[rank::world_size]
    if not files:
        raise ValueError(f"no data for rank {rank} in {folder}")
    return files


class Prefetcher(threading.Thread):
    """Reads batches in the background and hands them over through a queue."""

    def __init__(self, files: list[Path]) -> None:
        super().__init__(daemon=True)
        self.files = files
        self.batches: queue.Queue[torch.Tensor] = queue.Queue(maxsize=2)

    def run(self) -> None:
        """Put one batch per step into the queue, going round the files."""
        for step in range(STEPS if self.files else 0):
            seed = json.loads(self.files[step % len(self.files)].read_text())["seed"]
            self.batches.put(torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(seed)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="every rank gets its part of the files")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    folder = Path("data")
    if rank == 0:
        write_shards(folder / "rank0")
    dist.barrier()

    torch.manual_seed(0)
    model = FullyShardedDataParallel(
        nn.Sequential(Block(), Block()),
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        device_id=torch.device("cpu"),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = Prefetcher(my_files(folder, rank, world_size, fixed))
    loader.start()
    log.info("model wrapped, entering the training loop")
    for step in range(1, STEPS + 1):
        if step == 1:
            log.info("first batch: waiting for data")
        batch = loader.batches.get()
        if step == 1:
            log.info("first batch: on device, starting forward pass")
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
