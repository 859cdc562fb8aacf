"""Gradients by autograd itself."""

import os

import torch
import torch.distributed as dist
from net import Block, loader
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(12)])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Net().cuda())
opt = torch.optim.Adam(net.parameters())
for x in loader():
    loss = net(x.cuda()).mean()
    grads = torch.autograd.grad(loss, list(net.parameters()))  # distkb: script.reentrant-with-grad
    for p, g in zip(net.parameters(), grads):
        p.grad = g
    opt.step()
