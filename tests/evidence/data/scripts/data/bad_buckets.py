"""Samplers that make batches by size from the rank's own samples."""

import torch.distributed as dist
from lightning.pytorch import LightningModule
from torch.utils.data import BatchSampler, Sampler


class Tokens(Sampler):
    def __init__(self, lengths, most, rank, world):
        self.lengths, self.most, self.rank, self.world = lengths, most, rank, world

    def build(self, order):
        mine = order[self.rank :: self.world]
        batches, batch, widest = [], [], 0
        for i in sorted(mine, key=lambda i: self.lengths[i]):
            widest = max(widest, self.lengths[i])
            if batch and widest * (len(batch) + 1) > self.most:  # distkb: script.batches-of-own-part
                batches.append(batch)
                batch, widest = [], self.lengths[i]
            batch.append(i)
        return batches + [batch]

    def __iter__(self):
        return iter(self.build(list(range(len(self.lengths)))))


class Streamed(BatchSampler):
    def __init__(self, texts, budget):
        self.texts, self.budget = texts, budget
        rank = dist.get_rank()
        self.ids = list(range(rank, len(texts), dist.get_world_size()))

    def __iter__(self):
        yield from self.pack(self.ids)

    def pack(self, ids):
        batch, total = [], 0
        for index in ids:
            total += len(self.texts[index])
            batch.append(index)
            if total >= self.budget:  # distkb: script.batches-of-own-part
                yield batch
                batch, total = [], 0
        if batch:
            yield batch


class Model(LightningModule):
    pass
