"""The type of autocast, looked up under a name, is that of the policy."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from lib import loader, policy, Model

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def train(precision="bf16"):
    dist.init_process_group("nccl")
    mp = MixedPrecision(param_dtype=torch.bfloat16)
    model = FSDP(Model(), auto_wrap_policy=policy, mixed_precision=mp)
    for x in loader():
        with torch.autocast("cuda", dtype=TYPES[precision]):
            loss = model(x).mean()
        loss.backward()


train()
