"""Outputs that stay DTensors, heads that are set from outside, and layers that no plan names."""

from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n_heads, self.all_heads, self.head_dim = heads, heads, dim // heads
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.all_heads, self.head_dim)
        k = self.wk(x).view(b, t, self.n_heads, self.head_dim)
        v = self.wv(x).view(b, t, self.all_heads, self.head_dim)
        return q, k, v


def divide(model, mesh):
    plan = {"wq": ColwiseParallel(use_local_output=False), "wk": ColwiseParallel()}
    for block in model.blocks:
        block.attn.n_heads = block.attn.n_heads // mesh.size()
        parallelize_module(block.attn, mesh, plan)
