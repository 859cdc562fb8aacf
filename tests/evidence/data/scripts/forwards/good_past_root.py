"""Forwards of the wrappers themselves, whole weights, and DDP, of which the inner model may be evaluated."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


def evaluate(loader):
    model = FSDP(nn.Linear(2, 2))
    for x in loader:
        print(model(x), model.forward(x))
    with FSDP.summon_full_params(model):
        print(model.module(x))


def second(loader):
    model = nn.Sequential(nn.Linear(2, 2))
    print(model.forward(torch.ones(2)))
    fully_shard(model[0])
    fully_shard(model)
    for x in loader:
        model(x).sum().backward()


def replicated(loader):
    model = DDP(nn.Linear(2, 2))
    with torch.no_grad():
        for x in loader:
            print(model.module(x))
