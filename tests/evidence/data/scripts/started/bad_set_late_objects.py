import os

import torch
import torch.distributed as dist


def hosts():
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, os.uname().nodename)
    return every


def main():
    dist.init_process_group("nccl")
    print(hosts())  # distkb: script.device-set-late
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.destroy_process_group()
