"""One GPU is shown and asked for as the first; or several are shown, and numbered anew."""

import os

import torch
import torch.distributed as dist


def one():
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    dist.destroy_process_group()
