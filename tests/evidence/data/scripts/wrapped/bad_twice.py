"""Sharded and wrapped."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(model, cfg):
    if cfg["shard"]:
        model = FSDP(model)
    return DDP(model, device_ids=[torch.cuda.current_device()])  # distkb: script.wrapped-twice


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = setup(Net().cuda(), {"shard": True})
for x in loader():
    net(x.cuda()).mean().backward()
