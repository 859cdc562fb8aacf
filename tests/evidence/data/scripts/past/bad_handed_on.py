"""The bare model is handed to the function that makes the loss of its methods."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Towers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left = torch.nn.Linear(8, 4)
        self.right = torch.nn.Linear(8, 4)

    def encode(self, x):
        return self.left(x)

    def forward(self, x, y):
        return self.encode(x) @ self.right(y).T


def ranking(net, x, y):
    return -(net.encode(x) * net.right(y)).sum(1).mean()


def main(data):
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        dist.init_process_group("gloo")
    net = Towers()
    model = DistributedDataParallel(net) if world > 1 else net
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, 16, sampler=sampler):
            core = model.module if world > 1 else model
            loss = ranking(core, x, y)  # distkb: script.forward-past-ddp
            opt.zero_grad()
            loss.backward()
            opt.step()
    dist.destroy_process_group()
