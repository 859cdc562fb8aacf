"""A group is made at the top and again in main."""

import torch, os
import torch.distributed as dist
from accelerate import Accelerator
from lib import net, loader

dist.init_process_group("nccl")


def main():
    acc = Accelerator()
    dist.init_process_group("nccl")  # distkb: script.group-made-twice
    m = acc.prepare(net)
    for b in loader:
        acc.backward(m(b))


main()
