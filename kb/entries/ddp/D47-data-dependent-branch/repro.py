"""A detector whose box head runs only if a batch holds boxes: one rank's batch has none, its head is unused.

Run with `torchrun --standalone --nproc-per-node 2 repro.py`; `--fixed` runs the head in every step.
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 6
EMPTY_STEP, EMPTY_RANK = 3, 1  # the one batch of the data set in which no image has a box


class Detector(nn.Module):
    """A backbone with an image head and a box head."""

    def __init__(self, fixed: bool) -> None:
        super().__init__()
        self.fixed = fixed
        self.backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.image_head = nn.Linear(32, 1)
        self.box_head = nn.Linear(32, 4)

    def forward(self, images: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        features = self.backbone(images)
        loss = self.image_head(features).pow(2).mean()
        if self.fixed:
            predicted = self.box_head(features[: max(len(boxes), 1)])
            error = (predicted[: len(boxes)] - boxes).abs().sum() / max(len(boxes), 1)
            loss = loss + error + 0.0 * predicted.sum()
        elif len(boxes) > 0:
            loss = loss + (self.box_head(features[: len(boxes)]) - boxes).abs().sum() / len(boxes)
        return loss


def batch_of(step: int, rank: int, data: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Eight images and up to three boxes; none in one batch of one rank."""
    count = 0 if (step, rank) == (EMPTY_STEP, EMPTY_RANK) else 1 + (step + rank) % 3
    return torch.randn(8, 16, generator=data), torch.rand(count, 4, generator=data)


def train(rank: int, fixed: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(Detector(fixed))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(100 + rank)
    for step in range(STEPS):
        images, boxes = batch_of(step, rank, data)
        loss = model(images, boxes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logging.info("step %d boxes %d loss %.4f", step, len(boxes), loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="run the box head in every step on every rank")
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
