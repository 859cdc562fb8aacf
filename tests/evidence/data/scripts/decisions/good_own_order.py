"""Each rank goes through as many batches in an order of its own."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Kept:
    def __init__(self, loader):
        self.batches = list(loader)

    def epoch(self, generator=None):
        order = torch.randperm(len(self.batches), generator=generator) if generator else range(len(self.batches))
        for place in order:
            yield self.batches[int(place)]


def main(data):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    kept = Kept(DataLoader(data, batch_size=8, sampler=DistributedSampler(data)))
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(3):
        for batch in kept.epoch(generator):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
