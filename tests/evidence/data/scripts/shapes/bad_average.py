"""A backend by default."""

import os

import torch
import torch.distributed as dist
from lib import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP


class Average:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, v, n):
        self.total += v * n
        self.count += n

    def sync(self):
        t = torch.tensor([self.total, self.count], dtype=torch.float64)
        dist.all_reduce(t, op=dist.ReduceOp.SUM)  # distkb: script.cpu-tensor-over-nccl
        self.total, self.count = t.tolist()


def setup(backend="nccl"):
    dist.init_process_group(backend=backend)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


setup()
net = DDP(Net().cuda())
avg = Average()
for x in loader():
    loss = net(x.cuda()).mean()
    loss.backward()
    avg.update(loss.item(), len(x))
avg.sync()
