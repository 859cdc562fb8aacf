import math

import torch
from torch import nn


class TimeEmbed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(1000.0) * torch.arange(half, device=t.device) / half)
        ang = t[:, None].float() * freqs[None]
        return self.mlp(torch.cat([ang.sin(), ang.cos()], dim=-1))


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * 2)
        self.fc2 = nn.Linear(dim * 2, dim)

    def forward(self, x, temb):
        h = self.fc1(self.norm(x) + temb)
        return x + self.fc2(torch.nn.functional.silu(h))


class Denoiser(nn.Module):
    def __init__(self, hidden, depth, data_dim=2):
        super().__init__()
        self.inp = nn.Linear(data_dim, hidden)
        self.time = TimeEmbed(hidden)
        self.blocks = nn.ModuleList(ResBlock(hidden) for _ in range(depth))
        self.out = nn.Linear(hidden, data_dim)

    def forward(self, x, t):
        h, temb = self.inp(x), self.time(t)
        for b in self.blocks:
            h = b(h, temb)
        return self.out(h)
