import torch
from torch import nn


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class SmallUNet(nn.Module):
    def __init__(self, w=24):
        super().__init__()
        self.a, self.b, self.c = conv(3, w), conv(w, 2 * w), conv(2 * w, 4 * w)
        self.up1, self.up2 = conv(6 * w, 2 * w), conv(3 * w, w)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(self.pool(a))
        c = self.c(self.pool(b))
        d = self.up1(torch.cat([self.up(c), b], 1))
        e = self.up2(torch.cat([self.up(d), a], 1))
        return self.out(e).squeeze(1)
