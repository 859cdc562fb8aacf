"""A new head behind the wrapper."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import resnet50

from data import make


def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    net = DDP(resnet50(weights="DEFAULT").cuda(), device_ids=[rank])
    net.module.fc = nn.Linear(2048, 37).cuda()  # distkb: script.exchanged-after-ddp
    opt = torch.optim.SGD(net.parameters(), 0.01)
    for x, y in make():
        opt.zero_grad()
        nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()


main()
