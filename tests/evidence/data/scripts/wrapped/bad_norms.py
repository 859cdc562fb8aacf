"""Norms that are exchanged behind the wrapper."""

import os

import torch
import torch.distributed as dist
from nets import Segmenter
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from data import make


class Job:
    def __init__(self, rank):
        self.net = DistributedDataParallel(Segmenter().cuda(rank), device_ids=[rank])
        self.prepare_norms()
        self.opt = torch.optim.AdamW(self.net.parameters(), 1e-4)

    def prepare_norms(self):
        self.net = nn.SyncBatchNorm.convert_sync_batchnorm(self.net)  # distkb: script.exchanged-after-ddp

    def fit(self):
        for x, y in make():
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x.cuda()), y.cuda()).backward()
            self.opt.step()


dist.init_process_group("nccl")
Job(int(os.environ["LOCAL_RANK"])).fit()
