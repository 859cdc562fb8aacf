import math

import torch
from torch.utils.data import Dataset

SPECIES = ["maple", "oak", "birch", "ginkgo", "willow", "linden"]


class Leaves(Dataset):
    """Small drawn leaves, 24x24, outline depends on the species."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, len(SPECIES), (n,), generator=g)
        lin = torch.linspace(-1, 1, 24)
        gy, gx = torch.meshgrid(lin, lin, indexing="ij")
        rot = torch.rand(n, generator=g) * 2 * math.pi
        size = 0.55 + 0.2 * torch.rand(n, generator=g)
        lobes = torch.tensor([5.0, 7.0, 0.0, 2.0, 1.0, 3.0])[self.y]
        depth = torch.tensor([0.35, 0.15, 0.0, 0.3, 0.45, 0.2])[self.y]
        theta = torch.atan2(gy, gx)[None] + rot[:, None, None]
        edge = size[:, None, None] * (1 + depth[:, None, None] * torch.cos(lobes[:, None, None] * theta))
        rad = (gx ** 2 + gy ** 2).sqrt()[None]
        img = torch.sigmoid((edge - rad) * 12) + 0.25 * torch.randn(n, 24, 24, generator=g)
        self.x = img.unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]
