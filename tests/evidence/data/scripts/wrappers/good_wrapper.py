"""Wrapped models that are used as they may be."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 100)
        self.temperature = 0.7

    def forward(self, x):
        return F.linear(self.encoder(x), self.head.weight)

    def caption(self, x):
        return self.forward(x).argmax(-1)

    def to(self, device):
        return super().to(device)


def train(loader, rank, wrap):
    model = Captioner().to(rank)
    plain = model
    if wrap:
        model = DDP(model, device_ids=[rank])
    for x in loader:
        model(x).sum().backward()
    model.eval()
    return plain.caption(x)


class Runner:
    def __init__(self):
        self.net = Captioner()
        self.model = DDP(self.net)

    def scale(self, x):
        self.model.train()
        return self.model(x) / self.model.module.temperature, self.net.caption(x)


class Task:
    def __init__(self):
        self.model = Captioner()

    def prime(self, x):
        self.model = torch.compile(self.model)
        return self.model.caption(x)

    def distribute(self):
        self.model = DDP(self.model)


def run(x):
    task = Task()
    task.prime(x)
    task.distribute()
    return task.model(x)


def sharded():
    model = Captioner()
    model.head.weight = model.encoder.weight
    fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model(torch.zeros(2, 8)).sum().backward()
    optimizer.step()
    torch.save(optimizer.state_dict(), f"optimizer-{dist.get_rank()}.pt")


def back_to_full():
    model = Captioner().half()
    model.float()
    fully_shard(model)
    model(torch.zeros(2, 8)).sum().backward()
