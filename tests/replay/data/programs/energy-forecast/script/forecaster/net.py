import torch
from torch import nn


class PatchForecaster(nn.Module):
    def __init__(self, context=72, horizon=24, patch=12, d=64, layers=2, heads=4):
        super().__init__()
        self.patch = patch
        n = context // patch
        self.embed = nn.Linear(patch, d)
        self.pos = nn.Parameter(torch.randn(n, d) * 0.02)
        blk = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(blk, layers, enable_nested_tensor=False)
        self.head = nn.Linear(n * d, horizon)

    def forward(self, x):
        b = x.shape[0]
        h = self.embed(x.view(b, -1, self.patch)) + self.pos
        return self.head(self.body(h).flatten(1))
