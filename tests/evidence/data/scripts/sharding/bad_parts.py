"""Parts of a model are sharded and the model is not; an optimizer that a helper makes too early."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = Tower()
        self.right = Tower()
        self.scale = nn.Parameter(torch.ones(1))


def shard(pair):
    for tower in (pair.left, pair.right):
        for layer in tower.layers:
            fully_shard(layer)
    fully_shard(pair.left)
    fully_shard(pair.right)  # distkb: script.root-not-sharded
    return pair


def optimizer_of(model):
    decayed = [p for p in model.parameters() if p.dim() > 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}])  # distkb: script.optimizer-before-sharding


def main():
    pair = shard(Pair())
    return torch.optim.AdamW(pair.parameters())


def early():
    tower = Tower()
    optimizer = optimizer_of(tower)
    for layer in tower.layers:
        fully_shard(layer)
    fully_shard(tower)
    return optimizer
