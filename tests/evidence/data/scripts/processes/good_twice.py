"""The group is made once."""

import torch, os
import torch.distributed as dist
from accelerate import Accelerator
from lib import net, loader

def main():
    acc = Accelerator()
    dist.init_process_group("nccl")
    m = acc.prepare(net)
    for b in loader:
        acc.backward(m(b))


main()
