import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def main(data):
    dist.init_process_group("gloo")
    local = int(os.environ["LOCAL_WORLD_SIZE"])
    torch.set_num_threads(max(1, os.cpu_count() // local))
    share = os.cpu_count() // local
    os.sched_setaffinity(0, set(range(int(os.environ["LOCAL_RANK"]) * share, share)))
    loader = DataLoader(data, sampler=DistributedSampler(data), num_workers=min(os.cpu_count(), 4))
    print(os.cpu_count(), len(loader))
    dist.destroy_process_group()


os.environ["OMP_NUM_THREADS"] = str(os.cpu_count())
