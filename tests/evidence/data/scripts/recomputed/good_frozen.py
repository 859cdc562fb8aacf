import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Trained(nn.Module):
    def __init__(self, words, dim):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.scale = nn.Parameter(torch.ones(dim))
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(4)])

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


class Scaled(Trained):
    def forward(self, tokens):
        with torch.no_grad():
            x = self.embed(tokens)
        x = x * self.scale
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 7)

    def forward(self, images):
        return checkpoint(self.stem, images, use_reentrant=False)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(32, 32, 7)

    def forward(self, x):
        return checkpoint(self.mix, x, use_reentrant=True)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 7)
        self.inner = Inner()

    def forward(self, images):
        return self.inner(self.stem(images))


def main(loader):
    model = DDP(Outer())
    for images in loader:
        model(images).sum().backward()
