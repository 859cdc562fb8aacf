import argparse
import functools

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


class Mixer(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        return self.body(x)


class Run:
    def __init__(self, args):
        policy = functools.partial(size_based_auto_wrap_policy, min_num_params=args.min_params)
        self.net = FullyShardedDataParallel(Mixer(512, 8), auto_wrap_policy=policy)  # distkb: script.size-policy-too-large


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--min-params", type=int, default=100_000_000)
    Run(parser.parse_args())
