"""Memory without values."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.fsdp import fully_shard


class Builder:
    def __init__(self, cfg):
        self.cfg = cfg

    def make(self):
        with torch.device("meta"):  # distkb: script.meta-not-initialised
            model = Net(self.cfg)
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        model.to_empty(device="cuda")
        return model


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Builder({}).make()
opt = torch.optim.AdamW(model.parameters())
for x in loader():
    model(x.cuda()).mean().backward()
    opt.step()
