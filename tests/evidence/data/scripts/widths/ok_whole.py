"""Sizes are counted on all of the data, or on what the ranks have put together."""

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main(rows, hidden):
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    classes = sorted({row["label"] for row in rows})
    mine = rows[rank::world]
    head = nn.Linear(hidden, len(classes))
    print(len(mine))
    return DistributedDataParallel(head)
