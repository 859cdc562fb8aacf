import math

import torch


def wind_series(n_turbines, n_hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(n_hours).float()
    day = torch.sin(2 * math.pi * t / 24)[None]
    phase = torch.rand(n_turbines, 1, generator=g) * 6.28
    slow = torch.sin(2 * math.pi * t[None] / 170 + phase)
    noise = torch.randn(n_turbines, n_hours, generator=g).cumsum(1) * 0.02
    return 8 + 2 * day + 3 * slow + noise


class Windows(torch.utils.data.Dataset):
    def __init__(self, series, history=96, horizon=24):
        self.s, self.h, self.f = series, history, horizon
        self.per = series.shape[1] - history - horizon

    def __len__(self):
        return self.s.shape[0] * self.per

    def __getitem__(self, i):
        row, t = divmod(i, self.per)
        w = self.s[row, t : t + self.h + self.f]
        return w[: self.h], w[self.h :]
