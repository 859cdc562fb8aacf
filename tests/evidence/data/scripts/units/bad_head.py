"""All is frozen but a head, in whole layers."""

import os, torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from functools import partial
from lib import GPT, Block, loader


def freeze_all_but_head(model):
    model.requires_grad_(False)
    model.head.requires_grad_(True)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = GPT()
freeze_all_but_head(m)
m = FSDP(m, auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}), device_id=torch.cuda.current_device())  # distkb: script.frozen-and-trained-in-unit
o = torch.optim.AdamW(p for p in m.parameters() if p.requires_grad)
for x in loader():
    m(x).backward()
    o.step()
    o.zero_grad()
