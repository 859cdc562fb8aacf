import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        t = x.size(1)
        mask = torch.full((t, t), float("-inf"), device=x.device).triu(1)
        h = self.n1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class FirstPart(nn.Module):
    def __init__(self, vocab, ctx, d, heads, layers):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.zeros(1, ctx, d))
        self.layers = nn.Sequential(*[Layer(d, heads) for _ in range(layers)])

    def forward(self, ids):
        return self.layers(self.tok(ids) + self.pos[:, :ids.size(1)])


class MidPart(nn.Module):
    def __init__(self, d, heads, layers):
        super().__init__()
        self.layers = nn.Sequential(*[Layer(d, heads) for _ in range(layers)])

    def forward(self, x):
        return self.layers(x)


class LastPart(nn.Module):
    def __init__(self, vocab, d, heads, layers):
        super().__init__()
        self.layers = nn.Sequential(*[Layer(d, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, vocab)

    def forward(self, x):
        return self.out(self.norm(self.layers(x)))


def build_part(index, total, vocab, cfg):
    if index == 0:
        return FirstPart(vocab, cfg["ctx"], cfg["d"], cfg["heads"], cfg["layers_per_stage"])
    if index == total - 1:
        return LastPart(vocab, cfg["d"], cfg["heads"], cfg["layers_per_stage"])
    return MidPart(cfg["d"], cfg["heads"], cfg["layers_per_stage"])
