"""Support tickets -> queue. Token ids only; the tokenizer output is cached elsewhere, here it is generated."""
import torch
from torch.utils.data import TensorDataset

VOCAB, QUEUES, LEN = 600, 20, 24


def build(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, QUEUES, (n,), generator=g)
    x = torch.randint(0, VOCAB, (n, LEN), generator=g)
    # five of the tokens come from the queue's own vocabulary
    own = y[:, None] * 25 + torch.randint(0, 25, (n, 5), generator=g)
    pos = torch.stack([torch.randperm(LEN, generator=g)[:5] for _ in range(n)])
    x.scatter_(1, pos, own)
    return TensorDataset(x, y)
