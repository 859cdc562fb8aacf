import math

import torch


class LoadSeries:
    """Endless batches of windows from synthetic regional load curves."""

    def __init__(self, regions, seed, history=48, horizon=12):
        g = torch.Generator().manual_seed(5)
        self.base = torch.rand(regions, generator=g) - 0.5
        self.day = 0.5 + torch.rand(regions, generator=g)
        self.half = torch.rand(regions, generator=g)
        self.phase = torch.rand(regions, generator=g) * 2 * math.pi
        self.history, self.horizon, self.regions = history, horizon, regions
        self.gen = torch.Generator().manual_seed(seed)

    def batch(self, n):
        region = torch.randint(0, self.regions, (n,), generator=self.gen)
        start = torch.rand(n, 1, generator=self.gen) * 24 * 365
        hours = start + torch.arange(self.history + self.horizon)[None]
        w = 2 * math.pi / 24
        ph = self.phase[region][:, None]
        y = self.base[region][:, None] + self.day[region][:, None] * torch.sin(w * hours + ph)
        y = y + self.half[region][:, None] * torch.sin(2 * w * hours + 0.7 * ph).abs()
        y = y + 0.02 * torch.randn(y.shape, generator=self.gen)
        return y[:, : self.history], region, y[:, self.history:]
