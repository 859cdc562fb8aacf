"""One policy for all."""

import torch, os
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
from lib import Model, loader

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = Model().cuda()
mp = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for b in m.blocks:
    fully_shard(b, mp_policy=mp)
fully_shard(m, mp_policy=mp)
o = torch.optim.AdamW(m.parameters())
for x in loader():
    m(x).mean().backward()
    o.step()
    o.zero_grad()
