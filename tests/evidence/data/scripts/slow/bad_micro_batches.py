"""Gradients that are accumulated and summed over the ranks each time."""

import argparse

from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=8)
args = parser.parse_args()


def train(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for i, (x, y) in enumerate(loader):
        loss = (model(x) - y).square().mean() / args.accum
        loss.backward()  # distkb: script.summed-each-micro-batch
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()


class Loop:
    def __init__(self, net, optimizer, micro_batches=4):
        self.net = DistributedDataParallel(net)
        self.optimizer = optimizer
        self.micro_batches = micro_batches

    def run(self, batches, steps):
        for _ in range(steps):
            for _ in range(self.micro_batches):
                self.net(next(batches)).mean().backward()  # distkb: script.summed-each-micro-batch
            self.optimizer.step()
            self.optimizer.zero_grad()
