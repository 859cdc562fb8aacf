import torch
from torch.utils.data import Dataset


class TonePhrases(Dataset):
    """Log-mel like frames of short commands: every class is a pair of formant tracks plus noise."""

    def __init__(self, n, n_mels=40, frames=48, classes=12, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(classes, (n,), generator=g)
        self.noise = torch.randn(n, frames, n_mels, generator=g) * 0.6
        self.n_mels, self.frames = n_mels, frames

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        y = int(self.y[i])
        t = torch.linspace(0, 1, self.frames)[:, None]
        mel = torch.arange(self.n_mels)[None, :]
        f1 = 4 + 2.4 * y + 4 * t
        f2 = 36 - 2.0 * y - 3 * t
        x = torch.exp(-((mel - f1) ** 2) / 6) + torch.exp(-((mel - f2) ** 2) / 6)
        return 2 * x + self.noise[i], y
