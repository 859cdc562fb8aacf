"""Data that is divided once: by hand, by a sampler, by a framework, or over other ranks each time."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from transformers import Trainer


class Files(Dataset):
    def __init__(self, files, rank=0):
        self.files = files
        self.rank = rank

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.files[i]


def by_hand(files):
    rank, world = dist.get_rank(), dist.get_world_size()
    even = len(files) // world * world
    return DataLoader(Files(files[:even][rank::world]), batch_size=4)


def by_sampler(files, rank):
    data = Files(files, rank)
    return DataLoader(data, sampler=DistributedSampler(data))


def by_node(files, node_rank, nodes):
    data = Files(files[node_rank::nodes])
    return DataLoader(data, sampler=DistributedSampler(data, num_replicas=8, rank=dist.get_rank() % 8))


def within_node(files, rank, world, local_rank):
    data = Files(files[rank // 8 :: world // 8])
    return DistributedSampler(data, num_replicas=8, rank=local_rank)


def accelerated(files, model):
    accelerator = Accelerator()
    return accelerator.prepare(model, DataLoader(Files(files), batch_size=4))


def every_other(files, model):
    accelerator = Accelerator()
    loader = DataLoader(Files(files[1::2]), batch_size=4)
    return accelerator.prepare(model, loader)


def evaluated(files, model):
    rank, world = dist.get_rank(), dist.get_world_size()
    shown = Files(files[rank::world])
    data = load_dataset("imdb", split="train")
    trainer = Trainer(model=model, train_dataset=data)
    return trainer, DataLoader(shown)


def first(files):
    data = Files(files[0:100])
    return DataLoader(data, sampler=DistributedSampler(data)), torch.ones(1)
