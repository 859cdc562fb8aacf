"""The type of autocast is looked up under a name, and is not that of the policy."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from lib import loader, policy, Model

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def train(precision="fp16"):
    dist.init_process_group("nccl")
    mp = MixedPrecision(param_dtype=torch.bfloat16)
    model = FSDP(Model(), auto_wrap_policy=policy, mixed_precision=mp)
    for x in loader():
        with torch.autocast("cuda", dtype=TYPES[precision]):
            loss = model(x).mean()  # distkb: script.autocast-over-policy
        loss.backward()


train()
