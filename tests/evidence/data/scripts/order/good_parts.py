"""Parts of a sharded model in an order that all processes share, parts that are not sharded alone, and other sets."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Linear(width, width)

    def forward(self, x):
        return self.net(x)


class Tower(nn.Module):
    def __init__(self, width, kinds):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(4))
        self.experts = nn.ModuleDict({kind: Block(width) for kind in kinds})
        self.scales = nn.ModuleDict({kind: nn.Identity() for kind in kinds})
        self.names = {"a", "b"}

    def forward(self, x, kinds):
        losses = {}
        for kind in sorted(set(kinds)):
            losses[kind] = self.experts[kind](x).mean()
        for kind in dict.fromkeys(kinds):
            losses[kind] = self.experts[kind](x).mean()
        present = set(kinds)
        for kind, expert in self.experts.items():
            if kind in present:
                losses[kind] = expert(x).mean()
        for index in {0, 2}:
            x = self.blocks[index](x)
        for kind in present:
            x = self.scales[kind](x)
        counts = {kind: kinds.count(kind) for kind in present}
        for name in self.names - {"b"}:
            losses[name] = torch.zeros(1)
        return losses, counts


def build(kinds):
    model = Tower(8, kinds)
    for part in model.modules():
        if isinstance(part, Block):
            fully_shard(part)
    return fully_shard(model)
