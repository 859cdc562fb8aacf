import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.mix = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, users, items):
        return self.mix(torch.cat([self.user(users), self.item(items)], dim=-1))


def make_heads(markets, dim):
    return nn.ModuleDict({m: nn.Linear(dim, 1) for m in sorted(markets)})
