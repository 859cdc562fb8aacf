import functools

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, transformer_auto_wrap_policy


class Base(nn.Module):
    pass


class Block(Base):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Tower(nn.Module):
    def __init__(self, kind=Block):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4)
        self.text = nn.TransformerEncoder(layer, 4)
        self.blocks = nn.ModuleList([kind(256) for _ in range(6)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def by_base():
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Base})
    return FSDP(Tower(), auto_wrap_policy=policy)


def by_layer():
    return FSDP(Tower(), auto_wrap_policy=ModuleWrapPolicy({nn.TransformerEncoderLayer}))


def looped():
    model = Tower()
    for module in model.modules():
        if isinstance(module, (Block, nn.TransformerEncoderLayer)):
            fully_shard(module)
    fully_shard(model)
    return model
