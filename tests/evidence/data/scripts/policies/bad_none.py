from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(256, 256) for _ in range(6)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main():
    return FSDP(Tower())  # distkb: script.fsdp-without-policy
