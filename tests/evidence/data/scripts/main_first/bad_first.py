import torch
import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator()


def build():
    x = torch.zeros(1)
    dist.broadcast(x, 0)
    return x


with accelerator.main_process_first():
    start = build()  # distkb: script.collective-in-main-first
