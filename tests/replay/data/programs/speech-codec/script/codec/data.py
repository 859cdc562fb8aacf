import math

import torch
from torch.utils.data import Dataset


class Tones(Dataset):
    """Harmonic clips with a formant-like envelope; stands in for the 16 kHz clips on the share."""

    def __init__(self, n, length, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(length) / 16000.0
        f0 = 90 + 200 * torch.rand(n, 1, generator=g)
        x = torch.zeros(n, length)
        for h in range(1, 6):
            amp = torch.rand(n, 1, generator=g) / h
            x = x + amp * torch.sin(2 * math.pi * h * f0 * t)
        x = x + 0.02 * torch.randn(n, length, generator=g)
        self.x = (x / x.abs().amax(1, keepdim=True)).unsqueeze(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]
