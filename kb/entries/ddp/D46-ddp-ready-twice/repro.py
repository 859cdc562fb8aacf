"""D46: reentrant activation checkpointing under DDP with find_unused_parameters=True.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

STEPS, WIDTH = 4, 16

log = logging.getLogger("train")


class Encoder(nn.Module):
    """Blocks whose activations are recomputed in backward, and a second head that this task does not use."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.embed = nn.Linear(8, WIDTH)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(3))
        self.classify = nn.Linear(WIDTH, 4)
        self.regress = nn.Linear(WIDTH, 1)

    def forward(self, inputs: torch.Tensor, task: str) -> torch.Tensor:
        hidden = self.embed(inputs)
        for block in self.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=self.reentrant)
        return self.classify(hidden) if task == "classify" else self.regress(hidden)


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    # The unused head makes find_unused_parameters necessary.
    model = DistributedDataParallel(Encoder(reentrant=not fixed), find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, STEPS + 1):
        inputs, labels = torch.randn(8, 8, generator=generator), torch.randint(0, 4, (8,), generator=generator)
        loss = nn.functional.cross_entropy(model(inputs, task="classify"), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="checkpoint without reentrant backward passes")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        train(fixed)
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
