"""Synthetic stand-in for the leaf scans (the real ones live on the lab's file server)."""
import torch
from torch.utils.data import Dataset


class LeafScans(Dataset):
    def __init__(self, n, classes, size, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, classes, (n,), generator=g)
        proto = torch.Generator().manual_seed(99)
        self.proto = torch.randn(classes, 3, size, size, generator=proto)
        self.seed = seed

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100003 + i)
        y = self.labels[i]
        x = 0.6 * self.proto[y] + torch.randn(self.proto.shape[1:], generator=g)
        return x, y
