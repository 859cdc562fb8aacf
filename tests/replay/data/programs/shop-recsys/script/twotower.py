import torch
from torch import nn


class TwoTower(nn.Module):
    """Users and items meet in a small MLP; the tables hold nearly all parameters."""

    def __init__(self, n_users, n_items, dim=32, hidden=64):
        super().__init__()
        self.users = nn.Embedding(n_users, dim)
        self.items = nn.Embedding(n_items, dim)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, u, i):
        a, b = self.users(u), self.items(i)
        return self.mlp(torch.cat([a, b, a * b], 1))[:, 0]


def clicks(n, n_users, n_items, seed):
    g = torch.Generator().manual_seed(99)
    taste = torch.randn(n_users, 4, generator=g)
    style = torch.randn(n_items, 4, generator=g)
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(0, n_users, (n,), generator=g)
    i = torch.randint(0, n_items, (n,), generator=g)
    p = torch.sigmoid(2.0 * (taste[u] * style[i]).sum(1))
    return u, i, torch.bernoulli(p, generator=g)
