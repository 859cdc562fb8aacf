"""The bare model, kept beside its wrapper."""

import os

import torch
import torch.distributed as dist
from nets import Siamese
from torch.nn.parallel import DistributedDataParallel as DDP

from data import triplets


class Runner:
    def __init__(self):
        self.ddp = DDP(Siamese().cuda())
        self.net = self.ddp.module
        self.opt = torch.optim.Adam(self.ddp.parameters(), 1e-4)

    def triplet(self, a, p, n):
        za, zp, zn = (self.net.embed(t.cuda()) for t in (a, p, n))  # distkb: script.forward-past-ddp
        return torch.nn.functional.triplet_margin_loss(za, zp, zn)

    def run(self):
        for a, p, n in triplets():
            loss = self.triplet(a, p, n)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Runner().run()
