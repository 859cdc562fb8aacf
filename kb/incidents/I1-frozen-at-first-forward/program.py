"""I1: two FSDP ranks freeze at the first forward, for one of three reasons that look alike from outside.

torchrun --standalone --nproc-per-node 2 program.py --variant a|b|c [--fixed]

a: rank 1 never gets its first batch. b: the ranks gather parameters of different dtypes. c: rank 0 waits in a barrier
before the loop that rank 1 does not call.
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
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

TIMEOUT = timedelta(seconds=6)
STEPS = 3
WIDTH = 32

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


class Prefetcher(threading.Thread):
    """Reads the samples of some shards in the background and hands them over through a queue."""

    def __init__(self, shards: list[int]) -> None:
        super().__init__(daemon=True)
        self.shards = shards
        self.batches: queue.Queue[torch.Tensor] = queue.Queue(maxsize=2)

    def run(self) -> None:
        """Put one batch per step into the queue; without a shard there is none to put."""
        for step in range(STEPS if self.shards else 0):
            generator = torch.Generator().manual_seed(self.shards[step % len(self.shards)])
            self.batches.put(torch.randn(8, WIDTH, generator=generator))


def my_shards(rank: int, world_size: int, broken: bool) -> list[int]:
    """Return the shards that this rank reads."""
    shards = list(range(4))
    # The mistake is the slice of one node's share: with one node, rank 0 takes all of it.
    return shards[rank * len(shards) :] if broken else shards[rank::world_size]


def precision(rank: int, broken: bool) -> torch.dtype:
    """Return the dtype to compute in, as the configuration says."""
    defaults, local = {"precision": "bf16"}, {"precision": "fp32"}
    # The mistake is a configuration on one node's disk that wins over the common one.
    chosen = {**defaults, **local} if broken and rank == 1 else defaults
    return {"bf16": torch.bfloat16, "fp32": torch.float32}[chosen["precision"]]


def before_the_loop(rank: int, broken: bool) -> None:
    """Write down the run's settings and wait until they are there."""
    if rank == 0:
        Path("run.json").write_text(json.dumps({"steps": STEPS, "width": WIDTH}))
        if broken:
            # The mistake: only rank 0 gets here.
            log.info("reaching barrier before training loop")
            dist.barrier()
    if not broken:
        log.info("reaching barrier before training loop")
        dist.barrier()
    log.info("entering training loop")


def train(rank: int, world_size: int, variant: str) -> None:
    """Train a few steps, with a line in the log for every stage on the way to the first one."""
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block())
    log.info("model built: %d parameters", sum(p.numel() for p in model.parameters()))
    dtype = precision(rank, variant == "b")
    wrapped = FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        mixed_precision=MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype),
        device_id=torch.device("cpu"),
    )
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
    log.info("FSDP wrapped: FULL_SHARD, param_dtype %s", dtype)
    loader = Prefetcher(my_shards(rank, world_size, variant == "a"))
    loader.start()
    before_the_loop(rank, variant == "c")
    for step in range(1, STEPS + 1):
        if step == 1:
            log.info("first batch: waiting for data")
        batch = loader.batches.get()
        if step == 1:
            log.info("first batch: on device, starting forward pass")
        output = wrapped(batch)
        if step == 1:
            log.info("first batch: forward pass completed")
        loss = (output - batch).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())


def main() -> None:
    """Run one variant, broken or not."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", choices=["a", "b", "c"], required=True)
    parser.add_argument("--fixed", action="store_true", help="repair it: any variant then trains")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log.info("process group is up: gloo, %d ranks", world_size)
    train(rank, world_size, "" if arguments.fixed else arguments.variant)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
