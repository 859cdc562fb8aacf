from datetime import timedelta

import torch
import torch.distributed as dist


def main(net):
    dist.init_process_group("nccl", timeout=timedelta(minutes=60))
    step = torch.compile(net, mode="max-autotune")
    step(torch.zeros(1)).sum().backward()
    dist.destroy_process_group()
