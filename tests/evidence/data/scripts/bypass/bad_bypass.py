"""Past the hooks of a sharded model, and around them."""

import copy

from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
import torch.distributed as dist


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        return self.head(self.embed(x))

    def encode(self, x):
        return self.embed(x)


def evaluate(batch):
    model = FullyShardedDataParallel(Net())
    model(batch)
    return model.encode(batch)  # distkb: script.method-past-sharding


def evaluate_in_place(batch):
    model = Net()
    fully_shard(model.head)
    fully_shard(model)
    teacher = copy.deepcopy(model)  # distkb: script.copy-of-sharded
    return teacher, model.encode(batch)  # distkb: script.method-past-sharding


def train(loader):
    model = DistributedDataParallel(Net(), find_unused_parameters=True)
    with Join([model]):
        for batch in loader:
            hidden = checkpoint(model, batch, use_reentrant=True)  # distkb: script.reentrant-with-unused
            loss = hidden.sum()
            loss.backward()
            dist.all_reduce(loss)  # distkb: script.collective-in-join
