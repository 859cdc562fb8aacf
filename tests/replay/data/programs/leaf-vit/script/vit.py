import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, heads, layer_drop):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * dim, dim))
        self.layer_drop = layer_drop

    def forward(self, x):
        if self.training and random.random() < self.layer_drop:
            # keep a zero-weighted path so that DDP sees every parameter
            return x + 0.0 * sum(p.sum() for p in self.parameters())
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, image=32, patch=4, dim=96, depth=6, heads=4, classes=12, layer_drop=0.1, grad_ckpt=True):
        super().__init__()
        self.patchify = nn.Conv2d(3, dim, patch, patch)
        self.pos = nn.Parameter(torch.zeros(1, (image // patch) ** 2, dim))
        rates = [layer_drop * i / (depth - 1) for i in range(depth)]
        self.blocks = nn.ModuleList(Block(dim, heads, r) for r in rates)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.grad_ckpt = grad_ckpt
        nn.init.trunc_normal_(self.pos, std=0.02)

    def forward(self, images):
        x = self.patchify(images).flatten(2).transpose(1, 2) + self.pos
        for blk in self.blocks:
            if self.grad_ckpt and self.training:
                x = checkpoint(blk, x, use_reentrant=False)
            else:
                x = blk(x)
        return self.head(self.norm(x).mean(1))
