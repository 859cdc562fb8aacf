import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.layer, self.deep = nn.Linear(8, 8), deep

    def forward(self, x):
        return self.layer(self.layer(x)) if self.deep else self.layer(x)


def main():
    dist.init_process_group("nccl")
    net = torch.compile(Net(True))
    loss = net(torch.zeros(1, 8)).sum()
    if dist.get_rank() == 0:
        print(loss.item())
    loss.backward()
    dist.destroy_process_group()
