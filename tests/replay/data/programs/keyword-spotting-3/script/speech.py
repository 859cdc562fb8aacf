import math

import torch
from torch import nn
from torch.utils.data import TensorDataset

WORDS = ["yes", "no", "up", "down", "left", "right", "stop", "go"]


def make_split(n, frames, mels, seed):
    """Log-mel lookalikes: every word has its own formant track."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(WORDS), (n,), generator=g)
    t = torch.linspace(0, 1, frames)
    bins = torch.arange(mels).float()
    track = mels * (0.25 + 0.06 * y[:, None] + 0.1 * torch.sin(2 * math.pi * t[None] * (1 + y[:, None] % 3)))
    x = torch.exp(-((bins[None, None] - track[:, :, None]) ** 2) / 6.0)
    x = x + 0.9 * torch.randn(n, frames, mels, generator=g)
    return TensorDataset(x, y)


class Spotter(nn.Module):
    def __init__(self, mels, hidden=48):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(mels, hidden, 5, stride=2, padding=2), nn.GELU(),
                                   nn.Conv1d(hidden, hidden, 3, stride=2, padding=1), nn.GELU())
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(WORDS))

    def forward(self, x):
        h = self.front(x.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h.mean(1))
