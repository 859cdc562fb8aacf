"""Checkpoints that are not reentrant, or each of another block; the model trains."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(4, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for _ in range(3):
            x = checkpoint(self.block, x, use_reentrant=False)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


def main(loader, language):
    language.gradient_checkpointing_enable()
    language.train()
    model = DDP(Looped())
    for batch in loader:
        model(batch).mean().backward()
        language(batch).mean().backward()
    return torch.zeros(1)
