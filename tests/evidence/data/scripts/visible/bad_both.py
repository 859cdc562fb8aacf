"""The rank's GPU is the only one to be seen, and is asked for by its old number."""

import os

import torch
import torch.distributed as dist


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)
    torch.cuda.set_device(local_rank)  # distkb: script.hidden-and-numbered
    dist.init_process_group("nccl")
    dist.destroy_process_group()
