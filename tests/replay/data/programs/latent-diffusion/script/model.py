import math

import torch
from torch import nn


def time_features(t, dim):
    freqs = torch.exp(-math.log(1000) * torch.arange(dim // 2) / (dim // 2))
    a = t[:, None] * freqs[None]
    return torch.cat([a.sin(), a.cos()], -1)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.time = nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, emb):
        return x + self.ff(self.norm(x) + self.time(emb))


class Denoiser(nn.Module):
    """Predicts the noise in an 8x8 latent."""

    def __init__(self, latent=64, dim=96, depth=4):
        super().__init__()
        self.dim = dim
        self.inp = nn.Linear(latent, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, latent)

    def forward(self, x, t):
        emb = time_features(t, self.dim)
        h = self.inp(x)
        for b in self.blocks:
            h = b(h, emb)
        return self.out(h)
