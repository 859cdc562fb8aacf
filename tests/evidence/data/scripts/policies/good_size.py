import functools

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


class Wide(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, 4 * dim) for _ in range(4))

    def forward(self, x):
        return [layer(x) for layer in self.layers]


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.only = nn.Linear(8, 8)

    def forward(self, x):
        return self.only(x)


def small_threshold():
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=20_000)
    return FSDP(Wide(256), auto_wrap_policy=policy)


def one_layer():
    return FSDP(Flat(), auto_wrap_policy=size_based_auto_wrap_policy)
