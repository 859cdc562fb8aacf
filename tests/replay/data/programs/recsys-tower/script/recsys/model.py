import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, mlp):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, 8, batch_first=True)
        self.up, self.down = nn.Linear(dim, mlp * dim), nn.Linear(mlp * dim, dim)

    def forward(self, h):
        x = self.n1(h)
        h = h + self.att(x, x, x, need_weights=False)[0]
        return h + self.down(nn.functional.gelu(self.up(self.n2(h))))


class UserTower(nn.Module):
    """Reads the last items of a user, scores the next one against all items."""

    def __init__(self, items, history, dim, blocks, mlp):
        super().__init__()
        self.item = nn.Embedding(items, dim)
        self.when = nn.Embedding(history, dim)
        self.blocks = nn.ModuleList(Block(dim, mlp) for _ in range(blocks))
        self.norm = nn.LayerNorm(dim)
        self.score = nn.Linear(dim, items, bias=False)

    def forward(self, hist):
        h = self.item(hist) + self.when.weight
        for b in self.blocks:
            h = b(h)
        return self.score(self.norm(h[:, -1]))
