"""Parameters that are chosen before the wrap."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel


def main(net):
    dist.init_process_group("nccl")
    print(sum(p.numel() for p in net.parameters() if p.dim() >= 2))
    model = FullyShardedDataParallel(net)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)
