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

    def reset_parameters(self):
        self.head.reset_parameters()


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


def build():
    with torch.device("meta"):
        model = Net()
    fully_shard(model.head)
    fully_shard(model)
    model.to_empty(device="cpu")
    model.reset_parameters()
    return model


def train(loader):
    model = DistributedDataParallel(Net())
    total = torch.zeros(1)
    with Join([model]):
        for batch in loader:
            loss = checkpoint(model, batch, use_reentrant=False).sum()
            loss.backward()
            total += loss.detach()
    dist.all_reduce(total)
