import multiprocessing
import os

os.environ["OMP_NUM_THREADS"] = str(multiprocessing.cpu_count())  # distkb: script.threads-of-machine

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def cores():
    return os.cpu_count() or 1


def main(data):
    dist.init_process_group("gloo")
    torch.set_num_threads(cores())  # distkb: script.threads-of-machine
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data), num_workers=os.cpu_count())  # distkb: script.workers-of-machine
    for batch in loader:
        print(len(batch))
    dist.destroy_process_group()
