import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.time = nn.Linear(tdim, cout)
        self.norm2 = nn.GroupNorm(4, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()
        self.act = nn.SiLU()

    def forward(self, x, t):
        h = self.conv1(self.act(self.norm1(x)))
        h = h + self.time(t)[:, :, None, None]
        h = self.conv2(self.act(self.norm2(h)))
        return h + self.skip(x)


class TinyUNet(nn.Module):
    def __init__(self, base=16, tdim=32):
        super().__init__()
        self.tdim = tdim
        self.time_mlp = nn.Sequential(nn.Linear(tdim, tdim), nn.SiLU(), nn.Linear(tdim, tdim))
        self.stem = nn.Conv2d(1, base, 3, padding=1)
        self.down1 = ResBlock(base, base, tdim)
        self.down2 = ResBlock(base, 2 * base, tdim)
        self.mid = ResBlock(2 * base, 2 * base, tdim)
        self.up1 = ResBlock(4 * base, base, tdim)
        self.up2 = ResBlock(2 * base, base, tdim)
        self.out = nn.Conv2d(base, 1, 3, padding=1)
        self.pool = nn.AvgPool2d(2)
        self.grow = nn.Upsample(scale_factor=2)

    def forward(self, x, t):
        half = self.tdim // 2
        freq = torch.exp(-torch.arange(half, device=x.device) * (6.0 / half))
        arg = t[:, None] * 1000 * freq[None]
        temb = self.time_mlp(torch.cat([arg.sin(), arg.cos()], dim=1))
        h1 = self.down1(self.stem(x), temb)
        h2 = self.down2(self.pool(h1), temb)
        h = self.mid(self.pool(h2), temb)
        h = self.up1(torch.cat([self.grow(h), h2], 1), temb)
        h = self.up2(torch.cat([self.grow(h), h1], 1), temb)
        return self.out(h)
