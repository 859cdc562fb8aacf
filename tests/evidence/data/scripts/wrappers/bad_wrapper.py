"""A wrapped model is used as if it were the plain one."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 100)
        self.temperature = 0.7

    def forward(self, x):
        return self.head(self.encoder(x))

    def caption(self, x):
        return self.forward(x).argmax(-1)


def train(loader, rank):
    model = DDP(Captioner().to(rank), device_ids=[rank])
    for x in loader:
        model(x).sum().backward()
    return model.caption(x)  # distkb: script.attribute-of-wrapper


class Runner:
    def __init__(self):
        net = Captioner()
        self.model = DDP(net)

    def scale(self, x):
        return self.model(x) / self.model.temperature  # distkb: script.attribute-of-wrapper


class Task:
    def __init__(self):
        self.model = Captioner()

    def distribute(self):
        self.model = DDP(self.model)

    def sample(self, x):
        return self.model.caption(x)  # distkb: script.attribute-of-wrapper


def run(x):
    task = Task()
    task.distribute()
    return task.sample(x)


def fused(loader):
    model = Captioner()
    fully_shard(model.encoder)
    fully_shard(model)
    for x, y in loader:
        hidden = model(x)
        logits = F.linear(hidden, model.head.weight)  # distkb: script.weight-of-sharded
        F.cross_entropy(logits, y).backward()


def low():
    model = Captioner().to(torch.bfloat16)  # distkb: script.low-precision-before-sharding
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model(torch.zeros(2, 8)).sum().backward()
    optimizer.step()


def save(path):
    model = FullyShardedDataParallel(Captioner())
    optimizer = torch.optim.AdamW(model.parameters())
    weights = model.state_dict()  # distkb: script.state-without-type
    if dist.get_rank() == 0:
        torch.save({"model": weights, "optimizer": optimizer.state_dict()}, path)  # distkb: script.optimizer-shard-of-one
