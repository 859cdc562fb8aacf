"""Hourly load curves of a few hundred meters, generated once from a seed."""
import numpy as np
import torch
from torch.utils.data import Dataset


def make_meters(n_meters=160, hours=24 * 42, seed=7):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    out = []
    for _ in range(n_meters):
        base = rng.uniform(0.5, 3.0)
        day = rng.uniform(0.3, 1.2) * np.sin(2 * np.pi * (t - rng.integers(0, 6)) / 24)
        week = rng.uniform(0.1, 0.5) * np.sin(2 * np.pi * t / 168 + rng.uniform(0, 1))
        noise = rng.normal(0, 0.15, hours)
        out.append(base * (1 + 0.4 * day + 0.2 * week) + noise)
    x = np.stack(out).astype("float32")
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


class Windows(Dataset):
    def __init__(self, series, context=72, horizon=24, stride=12):
        self.s, self.c, self.h = series, context, horizon
        per = (series.shape[1] - context - horizon) // stride
        self.index = [(m, k * stride) for m in range(len(series)) for k in range(per)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        m, k = self.index[i]
        w = self.s[m, k : k + self.c + self.h]
        return torch.from_numpy(w[: self.c]), torch.from_numpy(w[self.c :])
