import torch
from torch import nn


class SessionNet(nn.Module):
    def __init__(self, n_items, dim=24, n_countries=8):
        super().__init__()
        self.item = nn.Embedding(n_items, dim, padding_idx=0)
        self.country = nn.Embedding(n_countries, dim)
        self.head = nn.Sequential(nn.Linear(2 * dim + 1, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, items, dwell, country):
        mask = (items > 0).float()
        w = (mask * (0.2 + dwell)).unsqueeze(-1)
        pooled = (self.item(items) * w).sum(1) / w.sum(1).clamp(min=1e-3)
        x = torch.cat([pooled, self.country(country), dwell.sum(1, keepdim=True)], 1)
        return self.head(x).squeeze(1)
