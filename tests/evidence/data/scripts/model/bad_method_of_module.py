"""A method of the model inside of DDP gives the loss."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x):
        return self.outer(self.inner(x))

    def loss(self, x):
        return (self(x) - x).pow(2).mean()


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DDP(Coder().cuda())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader():
        loss = model.module.loss(x)  # distkb: script.forward-past-ddp
        loss.backward()
        opt.step()
        opt.zero_grad()


main()
