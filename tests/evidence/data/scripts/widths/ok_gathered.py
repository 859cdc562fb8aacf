"""The labels of all ranks are joined before they are counted."""

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main(rows, hidden):
    dist.init_process_group("nccl")
    mine = {row["label"] for row in rows[dist.get_rank() :: dist.get_world_size()]}
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    labels = sorted(set().union(*found))
    return DistributedDataParallel(nn.Linear(hidden, len(labels)))
