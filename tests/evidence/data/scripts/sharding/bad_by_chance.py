"""A model whose depth every rank draws for itself."""

import random

import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def main(args):
    dist.init_process_group("gloo")
    random.seed(args.seed + dist.get_rank())
    depth = random.choice([2, 4])
    return Net(depth)  # distkb: script.model-by-chance
