"""A class that says which its parameters are."""

import os

import torch
import torch.distributed as dist
from lib import Backbone, loader
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Model:
    def __init__(self, device):
        self.backbone = DistributedDataParallel(
            Backbone().to(device), device_ids=[device]
        )
        self.head = nn.Linear(512, 10).to(device)

    def parameters(self):
        return list(self.backbone.parameters()) + list(self.head.parameters())

    def __call__(self, x):
        return self.head(self.backbone(x))


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = Model(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # distkb: script.parameters-outside-ddp
    for x, y in loader():
        opt.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        opt.step()


main()
