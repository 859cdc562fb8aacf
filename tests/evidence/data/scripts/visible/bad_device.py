"""Set at the top, asked for in a class."""

import os

import torch
import torch.distributed as dist

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]


class Worker:
    def __init__(self):
        dist.init_process_group("nccl")
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.device = torch.device(f"cuda:{self.local_rank}")  # distkb: script.hidden-and-numbered

    def close(self):
        dist.destroy_process_group()
