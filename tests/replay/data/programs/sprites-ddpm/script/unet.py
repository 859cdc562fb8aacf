import math
import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, ch, temb):
        super().__init__()
        self.norm = nn.GroupNorm(4, ch)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.time = nn.Linear(temb, ch)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x, t):
        h = self.conv1(torch.nn.functional.silu(self.norm(x)))
        h = h + self.time(t)[:, :, None, None]
        return x + self.conv2(torch.nn.functional.silu(h))


class Denoiser(nn.Module):
    def __init__(self, ch=16, temb=32, depth=3):
        super().__init__()
        self.temb = temb
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(temb, temb), nn.SiLU())
        self.blocks = nn.ModuleList([ResBlock(ch, temb) for _ in range(depth)])
        self.out = nn.Conv2d(ch, 3, 3, padding=1)

    def forward(self, x, t):
        k = torch.exp(-math.log(1000) * torch.arange(self.temb // 2, device=x.device) / (self.temb // 2))
        a = t[:, None].float() * k[None]
        e = self.time(torch.cat([a.sin(), a.cos()], -1))
        h = self.stem(x)
        for b in self.blocks:
            h = b(h, e)
        return self.out(h)
