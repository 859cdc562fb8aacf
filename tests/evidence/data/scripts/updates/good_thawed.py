"""Parameters that are trained later, of a model that is wrapped once more; and two models that take turns."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Conv2d(3, 64, 3)
        self.head = nn.Linear(64, 4)


def switch(module, trainable):
    for parameter in module.parameters():
        parameter.requires_grad = trainable


def two_stages(loader):
    net = Detector()
    switch(net.trunk, False)
    model = DistributedDataParallel(net)
    for epoch in range(10):
        if epoch == 3:
            switch(net.trunk, True)
            model = DistributedDataParallel(net)
        for images in loader:
            model(images).sum().backward()


def adversarial(loader):
    maker, judge = DistributedDataParallel(Detector()), DistributedDataParallel(Detector())
    for images in loader:
        switch(judge, False)
        judge(maker(images)).sum().backward()
        switch(judge, True)
        judge(images).sum().backward()


def thawed_in_time():
    net = Detector()
    switch(net, False)
    switch(net.head, True)
    model = DistributedDataParallel(net)
    return model, torch.optim.SGD(net.head.parameters(), lr=0.1)
