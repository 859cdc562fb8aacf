"""One forward for each backward, forwards without gradients, models without buffers."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


def joined(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank])
    for left, right in loader:
        a, b = model(torch.cat([left, right])).chunk(2)
        (a - b).pow(2).mean().backward()


def plain(loader, rank):
    model = DDP(Plain().to(rank), device_ids=[rank])
    for left, right in loader:
        (model(left) - model(right)).pow(2).mean().backward()


def apart(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank])
    for real, fake in loader:
        model(real).mean().backward()
        model(fake).mean().backward()


def target(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank])
    for x in loader:
        with torch.no_grad():
            aim = model(x)
        (model(x) - aim).pow(2).mean().backward()


def either(loader, rank, flip):
    model = DDP(Net().to(rank), device_ids=[rank])
    for x in loader:
        if flip:
            out = model(x.flip(0))
        else:
            out = model(x)
        out.mean().backward()


def evaluated(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank])
    for x, y in loader:
        print(model(x), model(y))
