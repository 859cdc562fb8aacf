"""A part is frozen in the one unit."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Job:
    def __init__(self):
        self.model = Net()
        self.freeze()
        self.model = FSDP(self.model.cuda())  # distkb: script.frozen-and-trained-in-unit
        self.opt = torch.optim.AdamW(
            [p for p in self.model.parameters() if p.requires_grad]
        )

    def freeze(self):
        for name, p in self.model.named_parameters():
            p.requires_grad = "head" in name

    def run(self):
        for x in loader():
            self.model(x.cuda()).loss.backward()
            self.opt.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Job().run()
