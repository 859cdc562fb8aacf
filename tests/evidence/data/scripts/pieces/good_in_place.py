"""`fully_shard` keeps the shape of every parameter."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def main(model, use_orig_params=True):
    dist.init_process_group("nccl")
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}])
