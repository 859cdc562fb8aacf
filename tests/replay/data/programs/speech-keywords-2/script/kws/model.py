import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.n2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class KeywordNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.front = nn.Conv1d(cfg["n_mels"], cfg["dim"], 3, stride=2, padding=1)
        self.pos = nn.Parameter(torch.randn(1, cfg["frames"] // 2, cfg["dim"]) * 0.02)
        self.blocks = nn.ModuleList([Block(cfg["dim"], cfg["heads"]) for _ in range(cfg["layers"])])
        self.norm = nn.LayerNorm(cfg["dim"])
        self.head = nn.Linear(cfg["dim"], cfg["classes"])

    def forward(self, mel):
        x = self.front(mel).transpose(1, 2) + self.pos
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x).mean(1))
