"""Data that is taken apart by rank and given to a DistributedSampler, or to what puts one into the loader."""

from itertools import islice

import numpy as np
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset
from transformers import Trainer


class Files(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.files[i]


class Mine(Dataset):
    def __init__(self, files, rank, world):
        self.files = [f for i, f in enumerate(files) if i % world == rank]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.files[i]


def plain(files):
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = [files[i] for i in range(rank, len(files), world)]
    data = Files(mine)
    sampler = DistributedSampler(data, shuffle=True)  # distkb: script.divided-twice
    return DataLoader(data, sampler=sampler), sampler


def of_class(files, rank, world):
    data = Mine(files, rank, world)
    return DataLoader(data, sampler=DistributedSampler(data, num_replicas=world, rank=rank))  # distkb: script.divided-twice


def halves(data):
    rank, per = dist.get_rank(), len(data) // dist.get_world_size()
    start = rank * per
    part = Subset(data, np.arange(len(data))[start : start + per])
    return DistributedSampler(part)  # distkb: script.divided-twice


def accelerated(files, model):
    accelerator = Accelerator()
    mine = np.array_split(files, accelerator.num_processes)[accelerator.process_index]
    loader = DataLoader(Files(mine), batch_size=4)
    return accelerator.prepare(model, loader)  # distkb: script.divided-twice


def hub(model, rank, world):
    data = load_dataset("imdb", split="train")
    data = split_dataset_by_node(data, rank=rank, world_size=world)
    data = data.map(len)
    return Trainer(model=model, train_dataset=data)  # distkb: script.divided-twice


def sharded(model, args):
    data = load_dataset("imdb", split="train").shard(num_shards=dist.get_world_size(), index=dist.get_rank())
    return Trainer(model, args, train_dataset=data)  # distkb: script.divided-twice


def fabric(files):
    runner = Fabric(devices=4)
    loader = DataLoader(Files(list(islice(files, runner.global_rank, None, runner.world_size))))
    return runner.setup_dataloaders(loader)  # distkb: script.divided-twice
