"""A list as a unit."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from lib import loader, Block


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(24)])

    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = Net().cuda()
fully_shard(net.layers)  # distkb: script.container-sharded
fully_shard(net)
opt = torch.optim.AdamW(net.parameters())
for x in loader():
    net(x).mean().backward()
    opt.step()
    opt.zero_grad()
