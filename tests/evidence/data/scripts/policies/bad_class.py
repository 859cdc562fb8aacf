import functools

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


class OldBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(256) for _ in range(6)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def wrapped():
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={OldBlock})  # distkb: script.policy-class-absent
    return FSDP(Tower(), auto_wrap_policy=policy)
