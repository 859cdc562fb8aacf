"""Nothing gives the parameters memory."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.fsdp import fully_shard


def build():
    with torch.device("meta"):  # distkb: script.meta-without-memory
        model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = build()
opt = torch.optim.AdamW(model.parameters())
for x in loader():
    model(x.cuda()).mean().backward()
    opt.step()
