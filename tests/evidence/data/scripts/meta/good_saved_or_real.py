"""One buffer is in the checkpoint, another is made when it is needed, and the model with the third is not on meta."""

import torch
import torch.distributed as dist
from net import loader
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import fully_shard


class Positions(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("ids", torch.arange(length))
        self.register_buffer("cache", None, persistent=False)

    def forward(self, x):
        if self.cache is None:
            self.cache = self.ids.float().cos()
        return x + self.cache


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0, 1, 8), persistent=False)

    def forward(self, x):
        return x * self.scale


dist.init_process_group("gloo")
with torch.device("meta"):
    model = nn.Sequential(Positions(8), Positions(8))
teacher = Teacher()
for layer in model:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cpu")
set_model_state_dict(model, torch.load("base.pt"), options=StateDictOptions(full_state_dict=True))
opt = torch.optim.AdamW(model.parameters())
for x in loader:
    (model(x) - teacher(x)).square().mean().backward()
    opt.step()
    opt.zero_grad()
