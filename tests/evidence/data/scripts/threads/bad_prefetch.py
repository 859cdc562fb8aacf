"""The thread ends and says nothing."""

import os
import queue
import threading

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP


class Prefetcher:
    def __init__(self, source, depth=4):
        self.queue = queue.Queue(maxsize=depth)
        self.source = source
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()

    def _fill(self):
        for x in self.source:
            self.queue.put(x.pin_memory())

    def __iter__(self):
        while True:
            x = self.queue.get()  # distkb: script.queue-never-ended
            if x is None:
                return
            yield x.cuda(non_blocking=True)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Net().cuda())
opt = torch.optim.Adam(net.parameters())
for x in Prefetcher(loader()):
    net(x).mean().backward()
    opt.step()
dist.destroy_process_group()
