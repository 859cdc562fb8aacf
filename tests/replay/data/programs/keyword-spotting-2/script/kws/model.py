from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(a)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class KeywordNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        dim = cfg["dim"]
        self.embed = nn.Linear(cfg["n_mels"], dim)
        self.blocks = nn.ModuleList(Block(dim, cfg["heads"]) for _ in range(cfg["layers"]))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, len(cfg["keywords"]))

    def forward(self, feats):
        x = self.embed(feats)
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x).mean(1))
