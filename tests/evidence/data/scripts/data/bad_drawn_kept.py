"""What is drawn picks the samples that are read, and labels are written elsewhere."""

import random

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def keep(rows, labels):
    chosen = torch.rand(len(rows)) < 0.9  # distkb: script.split-without-seed
    wrong = labels < 0
    labels[wrong] = 0
    return rows[chosen], labels[chosen]


def train(net, rows, labels, seed, rank):
    random.seed(seed + rank)
    model = DDP(net)
    for x, _ in zip(*keep(rows, labels)):
        model(x).sum().backward()
