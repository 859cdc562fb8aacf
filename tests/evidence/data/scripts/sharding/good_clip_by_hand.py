"""The squares of all ranks are added, the norm is only shown, or every rank holds whole gradients."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def limited(weights, most):
    squares = [w.grad.float().pow(2).sum() for w in weights if w.grad is not None]
    length = torch.stack(squares).sum()
    dist.all_reduce(length)
    length = length.sqrt()
    for w in weights:
        if w.grad is not None:
            w.grad.mul_(torch.clamp(most / (length + 1e-6), max=1.0))
    return length


def added(value):
    dist.all_reduce(value)
    return value


def length_of(net):
    total = torch.zeros((), device="cuda")
    for w in net.parameters():
        total += w.grad.norm() ** 2
    return added(total).sqrt()


def of_whole(weights, most):
    length = torch.stack([w.grad.norm() for w in weights]).norm()
    for w in weights:
        w.grad.mul_(most / length)


class Loop:
    def __init__(self, net, small, rounds):
        self.net = FSDP(net, use_orig_params=True)
        self.small = DDP(small)
        self.rounds = rounds

    def step(self):
        limited(list(self.net.parameters()), 1.0)
        of_whole(list(self.small.parameters()), 1.0)

    def other(self, most):
        length = length_of(self.net)
        if length > most:
            for w in self.net.parameters():
                w.grad *= most / length

    def shown(self):
        length = torch.stack([w.grad.norm() for w in self.net.parameters()]).norm()
        for w in self.net.parameters():
            w.grad.div_(self.rounds)
        print(length)
