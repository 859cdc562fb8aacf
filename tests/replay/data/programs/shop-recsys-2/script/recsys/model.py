import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=32):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.user_mlp = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.item_mlp = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def users(self, u):
        e = self.user(u)
        return e + self.user_mlp(e)

    def items(self, i):
        e = self.item(i)
        return e + self.item_mlp(e)

    def forward(self, u, pos, neg):
        q = self.users(u)
        return (q * self.items(pos)).sum(-1), (q * self.items(neg)).sum(-1)
