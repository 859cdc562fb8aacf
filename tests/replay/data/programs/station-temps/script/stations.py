import math

import torch


def make(n_series, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length, dtype=torch.float32)
    phase = torch.rand(n_series, 1, generator=g) * 6.28
    amp = 0.5 + torch.rand(n_series, 1, generator=g)
    x = amp * torch.sin(2 * math.pi * t / 24 + phase) + 0.3 * torch.sin(2 * math.pi * t / 168 + phase)
    return x + 0.05 * torch.randn(n_series, length, generator=g)


def batch(series, past, ahead, size, g):
    row = torch.randint(series.size(0), (size,), generator=g)
    start = torch.randint(series.size(1) - past - ahead, (size,), generator=g)
    idx = start[:, None] + torch.arange(past + ahead)
    w = series[row[:, None], idx]
    return w[:, :past], w[:, past:]
