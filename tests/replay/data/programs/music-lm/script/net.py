import torch
import torch.nn.functional as F
from torch import nn

from tunes import VOCAB


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, 3 * d), nn.SiLU(), nn.Linear(3 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class TuneLM(nn.Module):
    def __init__(self, d=64, depth=3, heads=4, length=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(length, d) * 0.02)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.norm = nn.RMSNorm(d)
        self.lm_head = nn.Linear(d, VOCAB, bias=False)

    def forward(self, ids, logits=True):
        x = self.tok(ids) + self.pos[: ids.shape[1]]
        for b in self.blocks:
            x = b(x)
        x = self.norm(x)
        return self.lm_head(x) if logits else x


def chunked_xent(hidden, weight, target, rows=256):
    """Cross entropy without the full logits in memory."""
    hidden, target = hidden.flatten(0, 1), target.flatten()
    total = hidden.new_zeros(())
    for h, t in zip(hidden.split(rows), target.split(rows)):
        total = total + F.cross_entropy(F.linear(h, weight).float(), t, reduction="sum")
    return total / len(target)
