"""Settings are spread over all units but one."""

import os, torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
from lib import GPT, loader


def apply_fsdp(model):
    kw = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16)}
    for layer in model.layers:
        fully_shard(layer, **kw)
    fully_shard(model.embed)  # distkb: script.unit-without-policy
    return fully_shard(model, **kw)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = apply_fsdp(GPT().cuda())
o = torch.optim.AdamW(m.parameters())
for x in loader():
    m(x).mean().backward()
    o.step()
    o.zero_grad()
