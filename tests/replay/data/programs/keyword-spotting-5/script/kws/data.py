import math

import torch
from torch.utils.data import Dataset

WORDS = ["yes", "no", "up", "down", "left", "right", "stop", "go"]


class SpokenWords(Dataset):
    """One-second clips at 4 kHz; every word is a pair of formants that glide."""

    def __init__(self, n, seed=0, sr=4000):
        self.n, self.seed, self.sr = n, seed, sr

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        y = i % len(WORDS)
        t = torch.arange(self.sr) / self.sr
        f1 = 180 + 70 * y + 15 * torch.randn(1, generator=g)
        f2 = 1500 - 110 * y + 40 * torch.randn(1, generator=g)
        env = torch.exp(-((t - 0.5) ** 2) / 0.04)
        x = env * (torch.sin(2 * math.pi * f1 * t) + 0.5 * torch.sin(2 * math.pi * f2 * t * (1 + 0.1 * t)))
        x = x + 0.4 * torch.randn(self.sr, generator=g)
        spec = torch.stft(x, 128, hop_length=64, window=torch.hann_window(128), return_complex=True).abs()
        return torch.log1p(spec), y
