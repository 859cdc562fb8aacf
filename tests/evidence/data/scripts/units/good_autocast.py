"""Autocast to the type of the policy."""

import torch, os
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from lib import loader, policy, Model


class T:
    def __init__(self):
        mp = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        self.m = FSDP(Model(), auto_wrap_policy=policy, mixed_precision=mp)
        self.o = torch.optim.AdamW(self.m.parameters())

    def step(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = self.m(x).mean()
        loss.backward()
        self.o.step()
        self.o.zero_grad()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
t = T()
for x in loader():
    t.step(x)
