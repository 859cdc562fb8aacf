import math

import torch
from torch import nn


def time_embedding(t, dim):
    freqs = torch.exp(-math.log(10_000) * torch.arange(dim // 2) / (dim // 2)).to(t.device)
    ang = t[:, None] * 1000 * freqs[None]
    return torch.cat([ang.sin(), ang.cos()], 1)


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.cond = nn.Linear(64, width)

    def forward(self, x, temb):
        h = self.norm(x) + self.cond(temb)
        return x + self.down(nn.functional.silu(self.up(h)))


class Denoiser(nn.Module):
    """Predicts the noise in flattened 4x16x16 latents."""

    def __init__(self, latent=1024, width=1024, depth=6):
        super().__init__()
        self.inp = nn.Linear(latent, width)
        self.blocks = nn.ModuleList(ResBlock(width) for _ in range(depth))
        self.out = nn.Linear(width, latent)

    def forward(self, x, t):
        temb = time_embedding(t, 64)
        h = self.inp(x)
        for b in self.blocks:
            h = b(h, temb)
        return self.out(h)
