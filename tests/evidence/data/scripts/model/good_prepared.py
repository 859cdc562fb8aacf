"""A layer that only some batches use, where the wrapper looks for unused parameters."""

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from torch import nn
from torch.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.long = nn.Linear(8, 8)
        self.short = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x, lengths):
        if lengths.max() > 24:
            h = self.long(x)
        else:
            h = self.short(x)
        return self.head(h)


def main(dataset):
    unused = DistributedDataParallelKwargs(find_unused_parameters=True)
    accelerator = Accelerator(kwargs_handlers=[unused])
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, shuffle=True))
    for x, lengths in loader:
        accelerator.backward(model(x, lengths).sum())
        optimizer.step()
        optimizer.zero_grad()
