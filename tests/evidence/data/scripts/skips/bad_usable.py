"""An early return before the backward."""

import os

import torch
import torch.distributed as dist
from net import Detector
from torch.nn.parallel import DistributedDataParallel as DDP

from data import make_loader


class Engine:
    def __init__(self, rank):
        self.model = DDP(Detector().cuda(rank), device_ids=[rank])
        self.optim = torch.optim.SGD(self.model.parameters(), 0.01)
        self.skipped = 0

    def is_usable(self, targets):
        return any(len(t["boxes"]) for t in targets)

    def step(self, images, targets):
        if not self.is_usable(targets):  # distkb: script.decided-by-own-batch
            self.skipped += 1
            return None
        losses = self.model(images, targets)
        loss = sum(losses.values())
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.detach()


if __name__ == "__main__":
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    engine = Engine(rank)
    for images, targets in make_loader(rank):
        engine.step(images, targets)
