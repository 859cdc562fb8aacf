"""The first half asks for the global rank, the second for the local one."""

import os

import torch.distributed as dist
from data import prepare


def load(path):
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    if rank != 0:
        dist.barrier()
    data = prepare(path)
    if local_rank == 0:
        dist.barrier()  # distkb: script.gates-of-two-ranks
    return data
