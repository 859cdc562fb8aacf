"""Synthetic hourly load of a few substations."""
import math
import torch
from torch.utils.data import Dataset


class HourlyLoad(Dataset):
    def __init__(self, stations=12, hours=24 * 40, context=48, horizon=12, seed=7):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(hours).float()
        daily = torch.sin(2 * math.pi * t / 24)
        weekly = torch.sin(2 * math.pi * t / 168)
        amp = 0.5 + torch.rand(stations, 2, generator=g)
        self.x = amp[:, :1] * daily + 0.4 * amp[:, 1:] * weekly + 0.1 * torch.randn(stations, hours, generator=g)
        self.context, self.horizon = context, horizon
        self.per_station = (hours - context - horizon) // 6

    def __len__(self):
        return self.x.size(0) * self.per_station

    def __getitem__(self, i):
        s, k = divmod(i, self.per_station)
        a = k * 6
        b = a + self.context
        return self.x[s, a:b], self.x[s, b:b + self.horizon]
