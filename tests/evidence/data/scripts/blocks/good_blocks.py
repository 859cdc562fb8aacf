"""Blocks that decide the same twice, and a plan that fits."""

import random

import torch
import torch.nn as nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, skip):
        if skip or torch.rand(()) < 0.1:
            return x
        return x + self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.heads = nn.ModuleDict({"main": nn.Linear(width, 2)})

    def forward(self, x):
        for block in self.blocks:
            skip = random.random() < 0.1
            x = checkpoint(block, x, skip, use_reentrant=False)
        return x


def build(mesh):
    model = Net(64, 4)
    plan = {"blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel(), "heads.main": ColwiseParallel()}
    return parallelize_module(model, mesh, plan)
