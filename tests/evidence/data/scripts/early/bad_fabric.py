import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import ModelParallelStrategy
from torch import nn
from torch.distributed.fsdp import fully_shard


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(5000, 32)
        self.tower = nn.Linear(32, 1)

    def forward(self, items):
        return self.tower(self.items(items))


def shard(model, mesh):
    fully_shard(model.tower, mesh=mesh["data_parallel"])
    return fully_shard(model, mesh=mesh["data_parallel"])


def main(loader):
    fabric = Fabric(devices=2, strategy=ModelParallelStrategy(shard))
    fabric.launch()
    model = Ranker()
    tables = torch.optim.Adagrad([model.items.weight], lr=0.1)  # distkb: script.optimizer-before-sharding
    model = fabric.setup_module(model)
    dense = torch.optim.AdamW(model.tower.parameters(), lr=1e-3)
    for items, label in loader:
        loss = (model(items) - label).square().mean()
        fabric.backward(loss)
        tables.step()
        dense.step()
