"""Samplers that are told where they are, and wrongly."""

import os

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data):
    sampler = DistributedSampler(data, num_replicas=1, rank=0)  # distkb: script.sampler-with-fixed-rank
    return DataLoader(data, batch_size=8, sampler=sampler), sampler


class Trainer:
    def __init__(self, model, data):
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.model = DistributedDataParallel(model, device_ids=[self.local_rank])
        world = dist.get_world_size()
        self.sampler = DistributedSampler(data, world, self.local_rank)  # distkb: script.sampler-of-local-rank
        self.loader = DataLoader(data, batch_size=8, sampler=self.sampler)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for batch in self.loader:
                self.model(batch).sum().backward()
