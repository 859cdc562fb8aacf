"""Layers that only some batches use, in models that a library wraps."""

import torch
from accelerate import Accelerator
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
            h = self.long(x)  # distkb: script.layer-left-out
        else:
            h = self.short(x)  # distkb: script.layer-left-out
        return self.head(h)


def main(dataset):
    accelerator = Accelerator()
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, shuffle=True))
    for x, lengths in loader:
        accelerator.backward(model(x, lengths).sum())
        optimizer.step()
        optimizer.zero_grad()
