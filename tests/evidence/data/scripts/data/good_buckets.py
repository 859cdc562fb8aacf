"""Samplers that give every rank as many batches as the others."""

import torch
import torch.distributed as dist
from lightning.pytorch import LightningModule
from torch.utils.data import Sampler


class Whole(Sampler):
    def __init__(self, lengths, most, rank, world):
        self.lengths, self.most, self.rank, self.world = lengths, most, rank, world

    def __iter__(self):
        batches, batch, widest = [], [], 0
        for i in range(len(self.lengths)):
            widest = max(widest, self.lengths[i])
            if batch and widest * (len(batch) + 1) > self.most:
                batches.append(batch)
                batch, widest = [], self.lengths[i]
            batch.append(i)
        batches = batches[: len(batches) - len(batches) % self.world]
        return iter(batches[self.rank :: self.world])


class Agreed(Sampler):
    def __init__(self, lengths, most, rank, world):
        self.lengths, self.most = lengths, most
        self.ids = list(range(len(lengths)))[rank::world]

    def __iter__(self):
        batches, batch, total = [], [], 0
        for i in self.ids:
            total += self.lengths[i]
            batch.append(i)
            if total > self.most:
                batches.append(batch)
                batch, total = [], 0
        count = torch.tensor(len(batches))
        dist.all_reduce(count, op=dist.ReduceOp.MIN)
        return iter(batches[: int(count)])


class Fixed(Sampler):
    def __init__(self, data, size, rank, world):
        self.size, self.ids = size, list(range(len(data) // world * world))[rank::world]

    def __iter__(self):
        batch = []
        for i in self.ids:
            batch.append(i)
            if len(batch) == self.size:
                yield batch
                batch = []


class Model(LightningModule):
    pass
