"""Parts of a batch are hidden at random, on each rank others: nothing is divided."""

import random

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

HIDDEN = 128


def hide(x, share=0.15):
    chosen = torch.rand(x.shape) < share
    how = torch.rand(x.shape)
    y = x.clone()
    y[chosen & (how < 0.8)] = HIDDEN
    noise = torch.randint(32, 127, x.shape)
    swap = chosen & (how >= 0.8)
    y[swap] = noise[swap]
    return y, chosen


def blank(rows, count):
    at = torch.randperm(rows.shape[0])[:count]
    kept = torch.full_like(rows, -100)
    kept[at] = rows[at]
    rows[at] = HIDDEN
    return rows, kept


def cut(tokens):
    where = np.random.permutation(len(tokens))[:4]
    tokens[where] = 0
    return tokens


def train(net, loader, seed, rank):
    random.seed(seed + rank)
    model = DDP(net)
    for x in loader:
        y, chosen = hide(x)
        model(y)[chosen].sum().backward()
