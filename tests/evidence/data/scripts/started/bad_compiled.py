import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.rank = dist.get_rank()

    def forward(self, x):
        h = self.layer(x)
        if self.rank == 0:  # distkb: script.compiled-by-rank
            self.norm = h.norm()
        return h


def main():
    dist.init_process_group("nccl")
    net = torch.compile(Net())
    net(torch.zeros(1, 8)).sum().backward()
    dist.destroy_process_group()
