"""Two units of one weight."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class GPT(nn.Module):
    def __init__(self, vocab, d, n):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(d, 8) for _ in range(n))
        self.head = nn.Linear(d, vocab, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, x):
        h = self.emb(x)
        for b in self.blocks:
            h = b(h)
        return self.head(h)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = GPT(50257, 1024, 24).cuda()
for b in m.blocks:
    fully_shard(b)
fully_shard(m.emb)
fully_shard(m.head)  # distkb: script.tied-weight-in-two-units
fully_shard(m)
optimizer = torch.optim.AdamW(m.parameters())
dist.destroy_process_group()
