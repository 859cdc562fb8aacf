import torch
from torch import nn

WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "one", "two"]
MELS, FRAMES = 40, 32


def utterances(n, seed, noise=1.6):
    """Log-mel patches with a spoken word somewhere in the window."""
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(len(WORDS), MELS, FRAMES, generator=torch.Generator().manual_seed(42))
    y = torch.randint(0, len(WORDS), (n,), generator=g)
    x = noise * torch.randn(n, MELS, FRAMES, generator=g)
    for i in range(n):
        x[i] += torch.roll(proto[y[i]], int(torch.randint(-6, 7, (1,), generator=g)), dims=1)
    return x, y


class Spotter(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(MELS, width, 5, padding=2), nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2, stride=2), nn.ReLU(),
            nn.Conv1d(width, 2 * width, 5, padding=2, stride=2), nn.ReLU())
        self.head = nn.Linear(2 * width, len(WORDS))

    def forward(self, x):
        return self.head(self.encoder(x).amax(-1))
