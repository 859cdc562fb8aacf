"""All parts and the model are sharded; a wrapper that holds nothing but sharded parts."""

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


def main():
    tower = Tower()
    for layer in tower.layers:
        fully_shard(layer)
    fully_shard(tower)
    return torch.optim.AdamW(tower.parameters())


def two():
    pair = Pair()
    fully_shard(pair.left)
    fully_shard(pair.right)
    return torch.optim.AdamW(pair.parameters())
