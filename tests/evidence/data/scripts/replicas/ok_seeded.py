"""One seed for all, which draws one split."""

import random

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset


def main(data, model):
    dist.init_process_group("nccl")
    random.seed(7)
    order = list(range(len(data)))
    random.shuffle(order)
    train = Subset(data, order[: int(0.9 * len(order))])
    model = DistributedDataParallel(model)
    sampler = DistributedSampler(train)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in DataLoader(train, batch_size=8, sampler=sampler):
            model(batch).sum().backward()
