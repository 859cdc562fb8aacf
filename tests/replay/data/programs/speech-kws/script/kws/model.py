import torch
from torch import nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.norm2 = nn.LayerNorm(d)
        self.ff1 = nn.Linear(d, 4 * d)
        self.ff2 = nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(a)
        return x + self.ff2(F.gelu(self.ff1(self.norm2(x))))


class KeywordEncoder(nn.Module):
    def __init__(self, n_mels=40, d=64, layers=3, heads=4, classes=12, frames=48):
        super().__init__()
        self.inp = nn.Linear(n_mels, d)
        self.pos = nn.Parameter(torch.randn(1, frames, d) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(d, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.cls = nn.Linear(d, classes)

    def forward(self, x):
        x = self.inp(x) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.cls(self.norm(x).mean(1))
