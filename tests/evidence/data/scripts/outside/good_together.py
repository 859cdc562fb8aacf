"""All in one module."""

import os

import torch
import torch.distributed as dist
from nets import Decoder, Encoder
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from data import loader


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()
        self.log_sigma = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        rec = self.decoder(self.encoder(x))
        return ((rec - x) ** 2).mean() * torch.exp(
            -self.log_sigma
        ).sum() + self.log_sigma.sum()


dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
net = DDP(Both().cuda(), device_ids=[rank])
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for x in loader():
    loss = net(x.cuda())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
