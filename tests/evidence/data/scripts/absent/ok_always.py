"""A model that runs its second part on zeros where a batch has nothing for it."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.language, self.vision = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, tokens, pixels=None):
        weight = 1.0
        if pixels is None:
            pixels, weight = torch.zeros_like(tokens), 0.0
        return self.language(tokens) + weight * self.vision(pixels)


def collate(rows):
    batch = {"tokens": rows[0]}
    if len(rows) > 1:
        batch["pixels"] = rows[1]
    return batch


def train(loader):
    model = Mixed()
    fully_shard(model.vision)
    fully_shard(model)
    for batch in loader:
        model(**batch).mean().backward()
