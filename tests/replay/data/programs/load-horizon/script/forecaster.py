import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.act = nn.GELU()

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class Forecaster(nn.Module):
    """History of hourly load per region -> the next `horizon` hours."""

    def __init__(self, history=48, horizon=12, regions=12, dim=64, hidden=192, depth=2):
        super().__init__()
        self.inp = nn.Linear(history, dim)
        self.region = nn.Embedding(regions, dim)
        self.blocks = nn.ModuleList([MixerBlock(dim, hidden) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, horizon)

    def forward(self, past, region):
        h = self.inp(past) + self.region(region)
        for block in self.blocks:
            h = block(h)
        return self.out(self.norm(h))
