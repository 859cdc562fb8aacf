"""A helper tells the parameters apart by a list of names after the wrap."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from net import LM

PLAIN = ("bias", "norm.weight")


def groups(model):
    decay, plain = [], []
    for name, p in model.named_parameters():
        (plain if any(end in name for end in PLAIN) else decay).append(p)  # distkb: script.chosen-after-fsdp
    return [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]


dist.init_process_group("nccl")
model = FSDP(LM())
optimizer = torch.optim.AdamW(groups(model), lr=1e-4)
model(1).backward()
