from torch import nn
from torch.nn.functional import pad

from .bands import ExchangeRows


class BandConv(nn.Module):
    def __init__(self, cin, cout, k=3):
        super().__init__()
        self.halo = k // 2
        self.conv = nn.Conv2d(cin, cout, k)

    def forward(self, x):
        x = ExchangeRows.apply(x, self.halo)
        return self.conv(pad(x, (self.halo, self.halo, 0, 0), mode="circular"))


class SeaNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.Sequential(BandConv(2, width), nn.GELU(), BandConv(width, width, 5), nn.GELU(), BandConv(width, 1))

    def forward(self, x):
        return x[:, :1] + self.layers(x)
