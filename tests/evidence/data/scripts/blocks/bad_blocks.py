"""Blocks that decide anew when they are recomputed, and a plan with names of another model."""

import random

import torch.nn as nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        if self.training and random.random() < 0.1:  # distkb: script.checkpointed-block-decides
            return x
        return x + self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.calls = 0

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return checkpoint(self._tail, x, use_reentrant=False)

    def _tail(self, x):
        self.calls += 1
        return x.relu() if self.calls % 2 else x  # distkb: script.checkpointed-block-decides


def build(mesh):
    model = Net(64, 4)
    plan = {"blocks.*.up": ColwiseParallel(), "blocks.*.w2": RowwiseParallel()}  # distkb: script.plan-names-nothing
    return parallelize_module(model, mesh, plan)
