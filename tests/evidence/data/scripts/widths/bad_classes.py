"""The number of classes is counted on the rank's share."""

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Shard:
    def __init__(self, rows):
        self.rows = rows[dist.get_rank() :: dist.get_world_size()]
        self.classes = sorted({row["label"] for row in self.rows})


def main(rows, hidden):
    dist.init_process_group("nccl")
    shard = Shard(rows)
    head = nn.Linear(hidden, len(shard.classes) + 1)  # distkb: script.layer-by-own-data
    return DistributedDataParallel(head)
