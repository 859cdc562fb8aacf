import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, pad):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, key_padding_mask=pad, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ClauseTagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        dim = cfg["dim"]
        self.embed = nn.Embedding(cfg["vocab"], dim)
        self.register_buffer("positions", self._sinusoid(cfg["max_len"], dim))
        self.encoder = nn.ModuleList(
            [Block(dim, cfg["heads"], cfg["dropout"]) for _ in range(cfg["layers"])]
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, cfg["n_tags"])
        self.checkpoint_blocks = cfg["checkpoint_blocks"]

    @staticmethod
    def _sinusoid(length, dim):
        pos = torch.arange(length).unsqueeze(1)
        freq = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(length, dim)
        table[:, 0::2] = torch.sin(pos * freq)
        table[:, 1::2] = torch.cos(pos * freq)
        return table

    def load_word_vectors(self, vectors):
        with torch.no_grad():
            self.embed.weight.copy_(vectors)

    def freeze_embeddings(self):
        self.embed.weight.requires_grad_(False)

    def forward(self, tokens):
        pad = tokens.eq(0)
        x = self.embed(tokens) + self.positions[: tokens.size(1)]
        for block in self.encoder:
            if self.checkpoint_blocks and self.training:
                x = checkpoint(block, x, pad, use_reentrant=True)
            else:
                x = block(x, pad)
        return self.head(self.norm(x))
