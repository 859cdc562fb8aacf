from torch import nn
from torch.distributed.fsdp import fully_shard


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


def main():
    model = Tower()
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer):  # distkb: script.policy-class-absent
            fully_shard(module)
    fully_shard(model)
    return model
