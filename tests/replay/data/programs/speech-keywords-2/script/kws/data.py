import torch
from torch.utils.data import Dataset


class SpokenWords(Dataset):
    """Log-mel windows of one word each, made from a few moving formants."""

    def __init__(self, cfg, n=4096):
        self.cfg, self.n = cfg, n
        g = torch.Generator().manual_seed(99)
        self.start = torch.rand(cfg["classes"], 2, generator=g) * cfg["n_mels"]
        self.slope = torch.randn(cfg["classes"], 2, generator=g) * 0.3

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 + i)
        y = i % self.cfg["classes"]
        t = torch.arange(self.cfg["frames"]).float()
        f = torch.arange(self.cfg["n_mels"]).float()[:, None]
        mel = torch.randn(self.cfg["n_mels"], self.cfg["frames"], generator=g) * 0.7
        for k in range(2):
            c = self.start[y, k] + self.slope[y, k] * t + torch.randn(1, generator=g)
            mel = mel + 1.5 * torch.exp(-((f - c % self.cfg["n_mels"]) ** 2) / 8)
        return mel, y
