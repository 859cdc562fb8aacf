"""Car-park occupancy: windows of 48 half hours in, next 4 out."""
import math

import numpy as np
import torch
from torch.utils.data import TensorDataset


def series(n_parks, n_steps, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(n_steps)
    day = 2 * math.pi * t / 48
    out = []
    for _ in range(n_parks):
        phase, cap = rng.uniform(0, 2), rng.uniform(0.4, 0.95)
        x = cap * (0.5 + 0.4 * np.sin(day + phase) + 0.1 * np.sin(day / 7))
        out.append(x + rng.normal(0, 0.03, n_steps))
    return np.stack(out).astype("float32")


def windows(n_parks=24, n_steps=600, seed=3, past=48, ahead=4):
    data = series(n_parks, n_steps, seed)
    xs, ys = [], []
    for s in range(0, n_steps - past - ahead, 2):
        xs.append(data[:, s:s + past])
        ys.append(data[:, s + past:s + past + ahead])
    x = torch.from_numpy(np.concatenate(xs))
    y = torch.from_numpy(np.concatenate(ys))
    return TensorDataset(x, y)
