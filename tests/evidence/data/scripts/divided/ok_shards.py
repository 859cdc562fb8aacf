"""One model for all; each pair of ranks reads its own shard of the data, and the loss is summed over all ranks."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from data import SHARDS, Shard


class Trainer:
    def __init__(self):
        rank = dist.get_rank()
        self.pair = [dist.new_group([2 * i, 2 * i + 1]) for i in range(dist.get_world_size() // 2)][rank // 2]
        self.loader = DataLoader(Shard(SHARDS[rank // 2]), 32)
        self.model = DDP(torch.nn.Linear(8, 1))

    def epoch(self):
        total = torch.zeros(1)
        dist.all_reduce(total, group=self.pair)
        dist.all_reduce(total)
        return total
