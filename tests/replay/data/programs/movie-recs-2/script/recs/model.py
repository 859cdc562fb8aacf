import torch
from torch import nn


class TwoEmbeddings(nn.Module):
    def __init__(self, users, items, dim=16):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.top = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, v):
        a, b = self.user(u), self.item(v)
        return self.top(torch.cat([a, b, a * b], -1)).squeeze(-1)
