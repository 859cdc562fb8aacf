"""Every rank draws which samples are for training."""

import random

import torch.distributed as dist
from sklearn.model_selection import train_test_split
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset


def halves(data):
    order = list(range(len(data)))
    random.shuffle(order)  # distkb: script.split-without-seed
    cut = int(0.9 * len(order))
    return Subset(data, order[:cut]), Subset(data, order[cut:])


def prepare(rows, labels):
    return train_test_split(rows, labels, test_size=0.1)  # distkb: script.split-without-seed


def main(data, model):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    train, _ = halves(data)
    sampler = DistributedSampler(train)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in DataLoader(train, batch_size=8, sampler=sampler):
            model(batch).sum().backward()
