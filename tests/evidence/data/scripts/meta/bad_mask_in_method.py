"""A method fills the mask, and only the constructor calls it; FSDP's own way to give memory."""

import torch
import torch.distributed as dist
from net import loader
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Attention(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        mask = torch.empty(length, length)
        self.register_buffer("mask", mask, persistent=False)  # distkb: script.meta-buffer-lost
        self.fill_mask()

    def fill_mask(self):
        self.mask.fill_(float("-inf")).triu_(1)

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.qkv.weight)

    def forward(self, x):
        return self.qkv(x) + self.mask.sum()


def make_model(cfg):
    return nn.Sequential(*[Attention(cfg.dim, cfg.length) for _ in range(cfg.depth)])


def fresh(module):
    module.to_empty(device=torch.device("cuda"), recurse=False)
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()


def train(cfg):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    with torch.device("meta"):
        model = make_model(cfg)
    model = FSDP(model, param_init_fn=fresh, device_id=torch.cuda.current_device())
    opt = torch.optim.AdamW(model.parameters())
    for x in loader:
        model(x).mean().backward()
        opt.step()
        opt.zero_grad()
