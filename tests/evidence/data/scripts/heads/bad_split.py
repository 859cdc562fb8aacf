"""Heads are split in a helper, and the plan is made name by name."""

from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def split(self, x):
        b, t = x.shape[:2]
        return x.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)  # distkb: script.view-of-all-heads

    def forward(self, x):
        scores = self.split(self.query(x)) @ self.split(self.key(x)).mT
        return scores


def divide(model, mesh, layers):
    plan = {}
    for i in range(layers):
        plan[f"layers.{i}.attention.query"] = ColwiseParallel()
        plan[f"layers.{i}.attention.key"] = ColwiseParallel()
        plan[f"layers.{i}.attention.out"] = RowwiseParallel()
    return parallelize_module(model, mesh, plan)
