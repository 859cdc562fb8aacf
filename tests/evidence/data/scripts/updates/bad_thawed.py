"""Parameters that DDP has left out are trained later."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Detector(nn.Module):
    def __init__(self, trunk):
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(64, 4)

    def forward(self, images):
        return self.head(self.trunk(images))


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3)


def switch(module, trainable):
    for parameter in module.parameters():
        parameter.requires_grad = trainable


def two_stages(loader):
    dist.init_process_group("nccl")
    net = Detector(Trunk())
    switch(net.trunk, False)
    model = DistributedDataParallel(net.cuda())  # distkb: script.no-device-set
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        if epoch == 3:
            switch(model.module.trunk, True)  # distkb: script.thawed-after-ddp
        for images in loader:
            model(images).sum().backward()
            optimizer.step()


def at_once(loader):
    net = Detector(Trunk())
    net.trunk.requires_grad_(False)
    model = DistributedDataParallel(net)
    for images in loader:
        model(images).sum().backward()
    net.trunk.requires_grad_(True)  # distkb: script.thawed-after-ddp
    for images in loader:
        model(images).sum().backward()
