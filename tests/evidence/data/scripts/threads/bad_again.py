"""A method that takes its own lock again."""

import os
import threading

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP


class Stats:
    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def add(self, k, v):
        with self.lock:
            self.values[k] = self.values.get(k, 0) + v
            if len(self.values) > 100:
                self.flush()  # distkb: script.lock-taken-twice

    def flush(self):
        with self.lock:
            print(self.values)
            self.values.clear()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Net().cuda())
stats = Stats()
for i, x in enumerate(loader()):
    loss = net(x.cuda()).mean()
    loss.backward()
    stats.add(f"s{i}", loss.item())
dist.destroy_process_group()
