import torch
from torch.utils.data import Dataset


class Ratings(Dataset):
    """Synthetic implicit ratings with a low-rank structure."""

    def __init__(self, n, users, items, seed, rank=6):
        base = torch.Generator().manual_seed(1)
        u = torch.randn(users, rank, generator=base)
        v = torch.randn(items, rank, generator=base)
        g = torch.Generator().manual_seed(seed)
        self.u = torch.randint(0, users, (n,), generator=g)
        self.v = torch.randint(0, items, (n,), generator=g)
        score = (u[self.u] * v[self.v]).sum(1) / rank ** 0.5
        self.y = (score + 0.3 * torch.randn(n, generator=g) > 0).float()

    def __len__(self):
        return len(self.u)

    def __getitem__(self, i):
        return self.u[i], self.v[i], self.y[i]
