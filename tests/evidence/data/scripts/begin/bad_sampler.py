"""A sampler is made above the method that makes the group."""

import torch, os
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, Data


class Exp:
    def __init__(self):
        self.ds = Data()
        self.sampler = DistributedSampler(self.ds)  # distkb: script.group-used-before-it-exists
        self.setup()
        self.m = DDP(Net().cuda())

    def setup(self):
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


Exp()
