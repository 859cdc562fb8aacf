"""Forwards that leave out the root of a sharded model."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def evaluate(loader):
    model = FSDP(nn.Linear(2, 2))
    with torch.no_grad():
        for x in loader:
            print(model.module(x))  # distkb: script.forward-past-root


class Trainer:
    def __init__(self):
        self.net = FSDP(nn.Linear(2, 2), use_orig_params=True)

    def score(self, x):
        return self.net.module(x)  # distkb: script.forward-past-root


def second(loader):
    model = nn.Sequential(nn.Linear(2, 2))
    fully_shard(model[0])
    fully_shard(model)
    for x in loader:
        model.forward(x).sum().backward()  # distkb: script.forward-past-root
