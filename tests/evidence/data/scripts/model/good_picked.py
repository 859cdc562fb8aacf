"""Parts that every rank runs, picked by the program and not by the batch."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Stages(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})

    def forward(self, x):
        for at in range(self.depth):
            x = self.layers[at](x)
        return {name: self.heads[name](x) for name in self.heads}


def main(loader):
    model = DDP(Stages(3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        sum(out.mean() for out in model(batch).values()).backward()
        optimizer.step()
