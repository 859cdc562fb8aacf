"""Small trained layers of the project's own are put into a frozen model."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from lib import loader, policy, Model


class LoRALinear(nn.Module):
    def __init__(self, base, r=8):
        super().__init__()
        self.base = base
        self.a, self.b = nn.Linear(base.in_features, r), nn.Linear(r, base.out_features)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


def inject(model):
    for p in model.parameters():
        p.requires_grad = False
    for block in model.blocks:
        block.q = LoRALinear(block.q)
    return model


dist.init_process_group("nccl")
model = FSDP(inject(Model()), auto_wrap_policy=policy, use_orig_params=True)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for x in loader():
    model(x).mean().backward()
    opt.step()
    opt.zero_grad()
