import math

import torch
from torch.utils.data import Dataset


class LoadWindows(Dataset):
    """Hourly load of a small grid: daily and weekly cycle, a drift and some noise."""

    def __init__(self, hours, context, horizon, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(hours, dtype=torch.float32)
        y = (1.0 + 0.35 * torch.sin(2 * math.pi * t / 24) + 0.15 * torch.sin(2 * math.pi * t / 168 + 0.7)
             + 2e-5 * t + 0.05 * torch.randn(hours, generator=g))
        self.y = (y - y.mean()) / y.std()
        self.context, self.horizon = context, horizon

    def __len__(self):
        return len(self.y) - self.context - self.horizon + 1

    def __getitem__(self, i):
        j = i + self.context
        return self.y[i:j], self.y[j:j + self.horizon]
