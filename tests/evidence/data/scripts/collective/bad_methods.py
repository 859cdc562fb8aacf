import os

import torch
import torch.distributed as dist
from bad_methods_helpers import Base
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer(Base):
    def __init__(self, model, loader):
        self.rank = int(os.environ["RANK"])
        self.loader = loader
        self.model = DDP(model)

    def evaluate(self):
        total = torch.zeros(1)
        for batch in self.loader:
            total += batch.sum()
        dist.all_reduce(total)
        return total

    def fit(self):
        for epoch in range(3):
            if self.rank == 0 and epoch % 2 == 0:
                self.evaluate()  # distkb: script.collective-on-some-ranks
            if not self.rank:
                self.synchronize()  # distkb: script.collective-on-some-ranks


def average(x):
    if dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(x)
        x /= dist.get_world_size()
    return x.item()


def report(x):
    if os.environ.get("LOCAL_RANK", "0") == "0":
        print(f"loss {average(x)}")  # distkb: script.collective-on-some-ranks
