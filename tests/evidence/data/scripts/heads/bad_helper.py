"""The layers come from a helper, and are cut by a plan."""

import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def projection(dim):
    return nn.Linear(dim, dim, bias=False)


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v = projection(dim), projection(dim), projection(dim)
        self.out = projection(dim)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.n_heads, -1).transpose(1, 2)  # distkb: script.view-of-all-heads
        k = self.k(x).view(b, t, self.n_heads, -1).transpose(1, 2)  # distkb: script.view-of-all-heads
        v = self.v(x).view(b, t, self.n_heads, -1).transpose(1, 2)  # distkb: script.view-of-all-heads
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, -1))


def divide(blocks, mesh):
    plan = {"q": ColwiseParallel(), "k": ColwiseParallel(), "v": ColwiseParallel(), "out": RowwiseParallel()}
    for block in blocks:
        parallelize_module(block, mesh, plan)
