import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, vocab, queues, length, dim=48, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(length, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, queues)

    def forward(self, ids):
        return self.out(self.enc(self.tok(ids) + self.pos).mean(1))
