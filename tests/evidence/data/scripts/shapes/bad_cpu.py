"""A sum on the CPU."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(Net().cuda())
    total = 0.0
    for x in loader():
        total += net(x.cuda()).mean().item()
    stat = torch.tensor([total, 1.0])
    dist.all_reduce(stat)  # distkb: script.cpu-tensor-over-nccl
    print(stat[0] / stat[1])


main()
