import numpy as np
import torch
from torch.utils.data import Dataset

# mean load (GW), daily swing, weekly swing, trend
REGIONS = {
    "north": dict(base=3.0, daily=1.4, weekly=0.3, phase=0.0, seed=11),
    "south": dict(base=5.5, daily=-0.9, weekly=0.9, phase=2.1, seed=12),
}


def hourly_load(hours, base, daily, weekly, phase, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    y = base + daily * np.sin(2 * np.pi * t / 24 + phase) + weekly * np.sin(2 * np.pi * t / 168)
    noise = np.zeros(hours)
    for i in range(1, hours):
        noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 0.08)
    return (y + noise).astype("float32")


class LoadWindows(Dataset):
    """Hour-of-week features only; the forecast is day-ahead without recent load."""

    def __init__(self, region, split, hours=6000):
        y = torch.from_numpy(hourly_load(hours, **REGIONS[region]))
        t = torch.arange(hours)
        feats = [torch.sin(2 * np.pi * t * k / 24) for k in (1, 2)] + [torch.cos(2 * np.pi * t * k / 24) for k in (1, 2)]
        feats += [torch.sin(2 * np.pi * t / 168), torch.cos(2 * np.pi * t / 168)]
        x = torch.stack(feats, 1)
        cut = int(hours * 0.85)
        part = slice(0, cut) if split == "train" else slice(cut, hours)
        self.x, self.y = x[part], y[part]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]
