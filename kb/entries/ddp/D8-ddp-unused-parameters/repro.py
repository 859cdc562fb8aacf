"""A classifier whose auxiliary head is computed but left out of the loss: DDP never finishes its reduction.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` puts the head's output into the loss.
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

STEPS = 4


class TwoHeads(nn.Module):
    """A trunk with a label head and an auxiliary head, as segmentation and detection models have."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.label_head = nn.Linear(32, 4)
        self.aux_head = nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.trunk(x)
        return {"logits": self.label_head(h), "aux": self.aux_head(h)}


def loss_of(out: dict[str, torch.Tensor], target: torch.Tensor, fixed: bool) -> torch.Tensor:
    """The one difference between the broken and the repaired run."""
    loss = cross_entropy(out["logits"], target)
    if fixed:
        loss = loss + 0.4 * cross_entropy(out["aux"], target)
    return loss


def train(rank: int, fixed: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(TwoHeads())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(100 + rank)
    for step in range(STEPS):
        x = torch.randn(8, 16, generator=data)
        target = torch.randint(0, 4, (8,), generator=data)
        loss = loss_of(model(x), target, fixed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logging.info("step %d loss %.4f", step, loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="let every output take part in the loss")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    try:
        train(rank, fixed)
        logging.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
