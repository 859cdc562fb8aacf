"""A sharded model whose vision tower runs only on ranks whose batch has pictures."""

from torch import nn
from torch.distributed.fsdp import fully_shard


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.language, self.vision = Tower(), Tower()

    def forward(self, tokens, pixels=None):
        out = self.language(tokens)
        if pixels is not None:
            out = out + self.vision(pixels)  # distkb: script.unit-by-own-batch
        return out


class Batches:
    def __call__(self, rows):
        batch = {"tokens": rows[0]}
        pictures = [row for row in rows if row is not None]
        if pictures:
            batch["pixels"] = pictures[0]
        return batch


def train(loader):
    model = Mixed()
    for part in (model.language, model.vision):
        fully_shard(part)
    fully_shard(model)
    for batch in loader:
        model(**batch).mean().backward()
