"""The frequencies are computed again once there is memory."""

import torch
import torch.distributed as dist
from net import loader
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import fully_shard


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        steps = torch.arange(0, dim, 2).float() / dim
        self.register_buffer("inv_freq", 1.0 / base**steps, persistent=False)

    def compute(self):
        steps = torch.arange(0, 2 * len(self.inv_freq), 2).float() / (2 * len(self.inv_freq))
        self.inv_freq.copy_(10000.0**-steps)

    def forward(self, t):
        return torch.outer(t, self.inv_freq).cos()


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rotary, self.proj = Rotary(dim), nn.Linear(dim, dim)

    def forward(self, x, t):
        return x + self.proj(x) * self.rotary(t)


class Decoder(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))

    def forward(self, x, t):
        for layer in self.layers:
            x = layer(x, t)
        return x


def build(path):
    with torch.device("meta"):
        model = Decoder(64, 2)
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    model.to_empty(device="cpu")
    for module in model.modules():
        if isinstance(module, Rotary):
            module.compute()
    state = torch.load(path, map_location="cpu", mmap=True)
    set_model_state_dict(model, state, options=StateDictOptions(full_state_dict=True))
    return model


dist.init_process_group("gloo")
model = build("base.pt")
opt = torch.optim.AdamW(model.parameters())
for x, t in loader:
    model(x, t).mean().backward()
    opt.step()
    opt.zero_grad()
