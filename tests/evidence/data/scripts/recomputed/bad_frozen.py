import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Tagger(nn.Module):
    def __init__(self, words, dim):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.register_buffer("positions", torch.zeros(512, dim))
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(4)])
        self.head = nn.Linear(dim, 9)

    def freeze(self):
        self.embed.weight.requires_grad_(False)

    def forward(self, tokens):
        pad = tokens.eq(0)
        x = self.embed(tokens) + self.positions[: tokens.size(1)]
        for block in self.blocks:
            x = checkpoint(block, x, pad, use_reentrant=True)  # distkb: script.reentrant-without-grad
        return self.head(x)


def main(loader):
    model = Tagger(1000, 64)
    model.freeze()
    model = DDP(model, find_unused_parameters=True)
    for tokens, tags in loader:
        F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten()).backward()
