"""The stream could be shared out, and nobody asks it to: the framework does."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, IterableDataset


class Clicks(IterableDataset):
    def __init__(self, files, rank=0, world=1):
        self.files = sorted(files)[rank::world]

    def __iter__(self):
        for file in self.files:
            yield torch.load(file)


def main(files):
    accelerator = Accelerator()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Clicks(files), batch_size=8))
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()
        optimizer.zero_grad()
