"""A sharded model decodes until the rank's own text ends."""

import os

import torch
import torch.distributed as dist
from net import LM, prompts
from torch.distributed.fsdp import fully_shard

EOS = 2


@torch.no_grad()
def decode(model, ids, limit=200):
    for _ in range(limit):
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], 1)
        if (nxt == EOS).all():  # distkb: script.decoding-ends-alone
            break
    return ids


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = LM().cuda()
for b in model.blocks:
    fully_shard(b)
fully_shard(model)
for p in prompts():
    print(decode(model, p.cuda()))
