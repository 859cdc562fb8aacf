"""Only the norms are trained, under a policy by size."""

import functools
import os

import torch
import torch.distributed as dist
from lib import Net, loader
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


def freeze_all_but_norms(model):
    for name, p in model.named_parameters():
        if "norm" not in name:
            p.requires_grad_(False)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
freeze_all_but_norms(model)
policy = functools.partial(size_based_auto_wrap_policy, min_num_params=100_000)
model = FSDP(model, auto_wrap_policy=policy, device_id=torch.cuda.current_device())  # distkb: script.frozen-and-trained-in-unit
opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()))
for x in loader():
    model(x.cuda()).mean().backward()
    opt.step()
