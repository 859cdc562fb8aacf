"""One process for all GPUs."""

import torch
from torch import nn
from lib import Net, loader


class T:
    def __init__(self):
        net = Net()
        if torch.cuda.device_count() > 1:
            net = nn.DataParallel(net)  # distkb: script.data-parallel
        self.net = net.cuda()
        self.o = torch.optim.SGD(self.net.parameters(), 0.1)

    def run(self):
        for x, y in loader():
            self.o.zero_grad()
            nn.functional.cross_entropy(self.net(x.cuda()), y.cuda()).backward()
            self.o.step()


T().run()
