import os

import psutil
import torch.distributed as dist


def pin():
    os.sched_setaffinity(0, {0, 1, 2, 3})  # distkb: script.bound-to-same-cores


def pin_by_psutil():
    psutil.Process().cpu_affinity(list(range(8)))  # distkb: script.bound-to-same-cores


def main():
    dist.init_process_group("nccl")
    pin()
    pin_by_psutil()
    dist.destroy_process_group()
