"""A tower that is wrapped for itself and called where the batch has photos."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def encode(text, photo, batch):
    query = text(batch["title"])
    mask = batch["has_photo"]
    if mask.any():
        query = query + photo(batch["photo"][mask]).mean(0)  # distkb: script.module-by-own-batch
    return query


class Listing:
    def __init__(self):
        self.text = DDP(torch.nn.Linear(8, 8))
        self.photo = DDP(torch.nn.Linear(8, 8))

    def loss(self, batch):
        out = self.text(batch["title"])
        if batch["photos"] is not None:
            out = out + self.photo(batch["photos"])  # distkb: script.module-by-own-batch
        return out.mean()


def main(loader, optimizer):
    text, photo = DDP(torch.nn.Linear(8, 8)), DDP(torch.nn.Linear(8, 8))
    for batch in loader:
        encode(text, photo, batch).mean().backward()
        optimizer.step()
