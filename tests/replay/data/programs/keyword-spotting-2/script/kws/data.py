import math

import torch
from torch.utils.data import Dataset


class ToneKeywords(Dataset):
    """Half-second clips; every keyword is a little melody with noise on top."""

    def __init__(self, cfg, n, seed):
        self.n = n
        self.seed = seed
        self.sr = cfg["sample_rate"]
        self.length = int(cfg["seconds"] * self.sr)
        g = torch.Generator().manual_seed(cfg["seed"])
        k = len(cfg["keywords"])
        self.melodies = 200 + 1800 * torch.rand(k, 4, generator=g)
        self.k = k

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100003 + i)
        label = i % self.k
        part = self.length // 4
        t = torch.arange(part) / self.sr
        shift = 1 + 0.02 * torch.randn(1, generator=g)
        wave = torch.cat([torch.sin(2 * math.pi * f * shift * t) for f in self.melodies[label]])
        wave = 0.3 * wave + 0.1 * torch.randn(wave.numel(), generator=g)
        return wave, label
