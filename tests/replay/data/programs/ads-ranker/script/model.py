import torch
import torch.nn as nn


class Ranker(nn.Module):
    def __init__(self, cardinalities, dim, hidden):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c, dim) for c in cardinalities)
        for t in self.tables:
            nn.init.normal_(t.weight, std=0.02)
        width = dim * len(cardinalities)
        self.mlp = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1))

    def forward(self, ids):
        x = torch.cat([t(ids[:, i]) for i, t in enumerate(self.tables)], dim=1)
        return self.mlp(x).squeeze(1)
