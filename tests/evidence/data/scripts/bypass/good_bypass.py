"""What a sharded model allows."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        return self.head(self.embed(x))

    def predict(self, x):
        return self(x).argmax(-1)

    def size(self):
        return sum(p.numel() for p in self.parameters())

    def encode(self, x):
        return self.embed(x)


def evaluate(batch):
    model = FullyShardedDataParallel(Net())
    return model.predict(batch), model.size()


def plain(batch):
    model = Net()
    teacher = copy.deepcopy(model)
    fully_shard(model.head)
    fully_shard(model)
    fully_shard(teacher.head)
    fully_shard(teacher)
    return model, teacher


def units(batch):
    model = Net()
    fully_shard(model.embed)
    fully_shard(model.head)
    fully_shard(model)
    return model.encode(batch)


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=True)


def distill(batch):
    student = DistributedDataParallel(Net(), find_unused_parameters=True)
    return student(Frozen()(batch))


def train(loader):
    model = DistributedDataParallel(Net())
    total = torch.zeros(1)
    with Join([model]):
        for batch in loader:
            loss = checkpoint(model, batch, use_reentrant=False).sum()
            loss.backward()
            total += loss.detach()
    dist.all_reduce(total)
