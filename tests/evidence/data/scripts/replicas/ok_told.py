"""Samplers that are told the right numbers, and evaluation on every rank."""

import os

import torch.distributed as dist
from sklearn.model_selection import train_test_split
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main(data, val_data, model, distributed):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    model = DistributedDataParallel(model, device_ids=[local])
    data, extra = train_test_split(data, test_size=0.1, random_state=3)
    sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=dist.get_rank())
    whole = DistributedSampler(val_data, num_replicas=1, rank=0, shuffle=False)
    if not distributed:
        sampler = DistributedSampler(data, num_replicas=1, rank=0)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in DataLoader(data, batch_size=8, sampler=sampler):
            model(batch).sum().backward()
    return DataLoader(val_data, sampler=whole), extra
