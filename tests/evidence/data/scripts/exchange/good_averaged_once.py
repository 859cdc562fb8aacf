"""Losses that come out right: scaled by the number of ranks, or divided by a mean, or only shown."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(model, optimizer, loader):
    model = DistributedDataParallel(model)
    world = dist.get_world_size()
    for batch in loader:
        total = batch["mask"].sum()
        dist.all_reduce(total)
        loss = model(batch).sum() * world / total
        loss.backward()
        optimizer.step()


def train_by_mean(model, optimizer, loader):
    model = DistributedDataParallel(model)
    for batch in loader:
        total = batch["mask"].sum()
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        loss = model(batch).sum() / total
        loss.backward()
        optimizer.step()


def train_and_show(model, optimizer, loader):
    model = DistributedDataParallel(model)
    for batch in loader:
        own = batch["mask"].sum()
        total = own.clone()
        dist.all_reduce(total)
        loss = model(batch).sum() / own
        loss.backward()
        optimizer.step()
        shown = torch.tensor(loss.item()) / total
        print(shown)
