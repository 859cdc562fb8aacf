from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch import nn

PLUGIN = FullyShardedDataParallelPlugin(
    auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["Block", "TransformerEncoderLayer"]
)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.TransformerEncoderLayer(dim, 4)

    def forward(self, x):
        return self.mix(x)


def main(optimizer):
    accelerator = Accelerator(fsdp_plugin=PLUGIN)
    model = nn.Sequential(*[Block(64) for _ in range(4)])
    return accelerator.prepare(model)
