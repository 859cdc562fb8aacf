import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, d, heads, ff):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, ff), nn.GELU(), nn.Linear(ff, d))

    def forward(self, x, mask):
        h = self.n1(x)
        x = x + self.att(h, h, h, key_padding_mask=mask, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class Tower(nn.Module):
    def __init__(self, vocab, d=48, heads=4, depth=3, max_len=64, gradient_checkpointing=False):
        super().__init__()
        self.tok = nn.Embedding(vocab, d, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(max_len, d) * 0.02)
        self.layers = nn.ModuleList(Layer(d, heads, 2 * d) for _ in range(depth))
        self.out = nn.Linear(d, d)
        self.gradient_checkpointing = gradient_checkpointing

    def forward(self, ids):
        mask = ids.eq(0)
        x = self.tok(ids) + self.pos[: ids.size(1)]
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=True)
            else:
                x = layer(x, mask)
        keep = (~mask).unsqueeze(-1).float()
        x = (x * keep).sum(1) / keep.sum(1).clamp_min(1)
        return F.normalize(self.out(x), dim=-1)


class Retriever(nn.Module):
    """One tower for both sides, in-batch negatives."""

    def __init__(self, vocab, temperature=0.07, **kw):
        super().__init__()
        self.tower = Tower(vocab, **kw)
        self.scale = nn.Parameter(torch.tensor(1.0 / temperature).log())

    def forward(self, query, passage):
        q, p = self.tower(query), self.tower(passage)
        sim = q @ p.t() * self.scale.exp()
        target = torch.arange(len(q), device=q.device)
        loss = 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target))
        return loss, (sim.argmax(1) == target).float().mean()
