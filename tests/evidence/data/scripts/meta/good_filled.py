"""Memory and values."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
model.init_weights()
opt = torch.optim.AdamW(model.parameters())
for x in loader():
    model(x.cuda()).mean().backward()
    opt.step()
