import random

import torch
from pydoc_data import topics


class Pages:
    """Random windows of the pages that belong to this rank, as bytes."""

    def __init__(self, rank, world, length):
        names = sorted(topics.topics)
        text = "\n".join(topics.topics[n] for n in names[rank::world])
        self.data = torch.tensor(list(text.encode("ascii", "replace")), dtype=torch.long)
        self.length = length

    def batch(self, n):
        pos = [random.randrange(len(self.data) - self.length) for _ in range(n)]
        return torch.stack([self.data[p:p + self.length] for p in pos]), pos


MASK = 128


def hide(x, low=0.10, high=0.30):
    """BERT-like: a share of the bytes is replaced by MASK (80%), a random byte (10%) or left alone."""
    share = low + (high - low) * torch.rand(1).item()
    chosen = torch.rand(x.shape) < share
    how = torch.rand(x.shape)
    y = x.clone()
    y[chosen & (how < 0.8)] = MASK
    noise = torch.randint(32, 127, x.shape)
    swap = chosen & (how >= 0.8) & (how < 0.9)
    y[swap] = noise[swap]
    return y, chosen, share
