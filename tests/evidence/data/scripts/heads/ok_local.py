"""Attention that counts the heads which it holds."""

from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Attention(nn.Module):
    def __init__(self, dim, heads, tp_size):
        super().__init__()
        self.head_dim = dim // heads
        self.own_heads = heads // tp_size
        self.wq, self.wk, self.wo = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, -1, self.head_dim)
        k = self.wk(x).view(b, t, self.own_heads, self.head_dim)
        return self.wo((q * k).reshape(b, t, -1))


def divide(model, mesh):
    plan = {"wq": ColwiseParallel(), "wk": ColwiseParallel(), "wo": RowwiseParallel()}
    return parallelize_module(model, mesh, plan)
