"""Rank 0 checks in training mode."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Backbone, val


def build():
    net = nn.SyncBatchNorm.convert_sync_batchnorm(Backbone())
    return DDP(net.cuda())


class Fit:
    def __init__(self):
        self.model = build()
        self.opt = torch.optim.SGD(self.model.parameters(), 0.1)

    def go(self):
        for e in range(9):
            for x, y in loader(e):
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.model(x.cuda()), y.cuda()).backward()
                self.opt.step()
            if dist.get_rank() == 0:
                self.check()

    def check(self):
        with torch.no_grad():
            for x, y in val():
                print(self.model.module(x.cuda()).argmax(1))  # distkb: script.synced-norm-on-some-ranks


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Fit().go()
