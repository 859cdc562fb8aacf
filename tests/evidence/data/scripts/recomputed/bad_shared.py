"""One block again and again."""

import os

import torch
import torch.distributed as dist
from parts import Block, loader
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Universal(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.block = Block()
        self.depth = depth

    def forward(self, x):
        for _ in range(self.depth):
            x = checkpoint(self.block, x, use_reentrant=True)  # distkb: script.reentrant-shared
        return x


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Universal(4).cuda())
opt = torch.optim.Adam(net.parameters())
for x in loader():
    net(x.cuda().requires_grad_()).mean().backward()
    opt.step()
