"""Projections are cut by a plan, and the attention goes on with all heads."""

from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.wo = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        q = q.view(b, t, self.heads, self.head_dim).transpose(1, 2)  # distkb: script.view-of-all-heads
        k = k.view(b, t, self.heads, -1).transpose(1, 2)  # distkb: script.view-of-all-heads
        v = v.reshape((b, t, self.heads, self.head_dim)).transpose(1, 2)  # distkb: script.view-of-all-heads
        out = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.wo(out.transpose(1, 2).reshape(b, t, -1))


def divide(model, mesh):
    for block in model.blocks:
        plan = {
            "attn.wq": ColwiseParallel(),
            "attn.wk": ColwiseParallel(),
            "attn.wv": ColwiseParallel(),
            "attn.wo": RowwiseParallel(),
        }
        parallelize_module(block, mesh, plan)
