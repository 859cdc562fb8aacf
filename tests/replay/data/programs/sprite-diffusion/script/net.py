import math

import torch
import torch.nn as nn


def t_embed(t, dim):
    f = torch.exp(-math.log(1000.0) * torch.arange(dim // 2) / (dim // 2))
    a = t[:, None].float() * f[None]
    return torch.cat([a.sin(), a.cos()], -1)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n = nn.LayerNorm(d)
        self.f = nn.Linear(d, 2 * d)
        self.g = nn.Linear(2 * d, d)
        self.t = nn.Linear(d, d)

    def forward(self, x, e):
        h = self.n(x) + self.t(e)
        return x + self.g(torch.nn.functional.silu(self.f(h)))


class Denoiser(nn.Module):
    def __init__(self, pix=144, d=96, depth=3):
        super().__init__()
        self.d = d
        self.inp = nn.Linear(pix, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.out = nn.Linear(d, pix)

    def forward(self, x, t):
        e = t_embed(t, self.d)
        h = self.inp(x)
        for b in self.blocks:
            h = b(h, e)
        return self.out(h)
