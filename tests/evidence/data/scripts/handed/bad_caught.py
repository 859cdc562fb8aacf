"""A step that ran out of memory is left out."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader


class T:
    def __init__(self):
        self.m = DDP(Net().cuda())
        self.o = torch.optim.SGD(self.m.parameters(), 0.1)

    def step(self, b):
        loss = self.m(b)
        self.o.zero_grad()
        loss.backward()
        self.o.step()

    def safe_step(self, b):
        try:
            self.step(b)
        except RuntimeError as e:  # distkb: script.step-error-caught
            if "out of memory" in str(e):
                torch.cuda.empty_cache()
                return False
            raise
        return True


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
t = T()
skipped = 0
for b in loader():
    if not t.safe_step(b):
        skipped += 1
