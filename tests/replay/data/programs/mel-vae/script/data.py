import math

import torch
from torch.utils.data import Dataset


class ToneBank(Dataset):
    """Synthetic log-mel patches: a few harmonics gliding over time plus noise."""

    def __init__(self, n, seed, n_mels=40, frames=32):
        g = torch.Generator().manual_seed(seed)
        f0 = 2 + 10 * torch.rand(n, 1, 1, generator=g)
        glide = (torch.rand(n, 1, 1, generator=g) - 0.5) * 0.4
        t = torch.arange(frames).view(1, 1, frames)
        m = torch.arange(n_mels).view(1, n_mels, 1)
        x = torch.zeros(n, n_mels, frames)
        for k in (1, 2, 3):
            centre = k * (f0 + glide * t)
            x += torch.exp(-0.5 * ((m - centre) / 1.2) ** 2) / math.sqrt(k)
        x += 0.05 * torch.randn(x.shape, generator=g)
        self.x = x.unsqueeze(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]
