import torch
from torch import nn


class ByteBert(nn.Module):
    def __init__(self, dim, heads, layers, length, dropout):
        super().__init__()
        self.tok = nn.Embedding(129, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 128)

    def forward(self, x):
        return self.out(self.enc(self.tok(x) + self.pos))
