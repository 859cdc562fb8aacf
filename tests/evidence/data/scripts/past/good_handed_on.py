"""The wrapped model is handed on for the loss, the bare one only for a measure; a name means another thing later."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Towers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left = torch.nn.Linear(8, 4)

    def encode(self, x):
        return self.left(x)

    def forward(self, x, y):
        return self.encode(x) @ self.encode(y).T


def ranking(net, x, y):
    return -net(x, y).diagonal().mean()


@torch.no_grad()
def measure(net, x):
    return net.encode(x).norm()


def start():
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def main(data):
    a = argparse.ArgumentParser().parse_args()
    rank, world = start()
    net = Towers()
    model = DistributedDataParallel(net) if world > 1 else net
    opt = torch.optim.SGD(model.parameters(), lr=a.rate)
    sampler = DistributedSampler(data)
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, a.batch // world, sampler=sampler):
            loss = ranking(model, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            core = model.module if world > 1 else model
            print(epoch, measure(core, x))
    a = loss.detach()
    print(rank, a)
    dist.destroy_process_group()
