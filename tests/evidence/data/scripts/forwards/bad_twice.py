"""Two forwards of a model with BatchNorm before one backward, under DDP."""

import torch
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        return self.norm(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x):
        return self.blocks(x)


def siamese(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank])
    for left, right in loader:
        a = model(left)
        b = model(right)  # distkb: script.forward-twice-with-buffers
        (a - b).pow(2).mean().backward()


def contrastive(loader, rank):
    net = torchvision.models.resnet50()
    model = DDP(net.to(rank), device_ids=[rank])
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), model(y))  # distkb: script.forward-twice-with-buffers
        loss.backward()


class Trainer:
    def __init__(self, rank):
        self.judge = DDP(Net().to(rank), device_ids=[rank])

    def step(self, real, fake):
        on_real = self.judge(real)
        on_fake = self.judge(fake.detach())  # distkb: script.forward-twice-with-buffers
        loss = on_fake.mean() - on_real.mean()
        loss.backward()
