import math

import torch
from torch.utils.data import Dataset

WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "zero", "one"]


class Clips(Dataset):
    """Log-mel like patches, 20 bands x 32 frames, one formant track per word plus noise."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, len(WORDS), (n,), generator=g)
        t = torch.linspace(0, 1, 32)
        bands = torch.arange(20).float()
        xs = []
        for y in self.y.tolist():
            f0 = 4 + (y % 4) * 3.5
            slope = (y // 4 - 1) * 5.0
            shift = (torch.rand(1, generator=g) - 0.5) * 2
            track = f0 + shift + slope * t + torch.sin(2 * math.pi * t * (1 + y % 3))
            x = torch.exp(-0.5 * (bands[:, None] - track[None]) ** 2)
            xs.append(x + 0.9 * torch.randn(20, 32, generator=g))
        self.x = torch.stack(xs).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]
