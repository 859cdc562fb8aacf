"""Synthetic hourly load of a few households: day and week cycle, weather, noise."""
import math

import torch


def make_series(meters, hours, seed=0):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours)
    amp = 0.5 + torch.rand(meters, 1, generator=g)
    phase = 24 * torch.rand(meters, 1, generator=g)
    day = torch.sin(2 * math.pi * (t + phase) / 24)
    week = 0.3 * torch.cos(2 * math.pi * (t + phase) / 168)
    weather = torch.randn(hours, generator=g).cumsum(0)
    weather = (weather - weather.mean()) / weather.std()
    x = amp * day + week + 0.2 * weather + 0.15 * torch.randn(meters, hours, generator=g)
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


def windows(series, context, horizon, n, generator):
    meters, hours = series.shape
    m = torch.randint(meters, (n,), generator=generator)
    s = torch.randint(hours - context - horizon, (n,), generator=generator)
    idx = s[:, None] + torch.arange(context + horizon)
    w = series[m[:, None], idx]
    return w[:, :context], w[:, context:]
