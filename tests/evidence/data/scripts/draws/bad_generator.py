"""A generator function samples lines with Python's random numbers; the seed is set in a helper."""

import random

import numpy as np
import torch
import torch.distributed as dist
from net import Net, encode
from torch.nn.parallel import DistributedDataParallel


def fix_seeds(seed):
    random.seed(seed)  # distkb: script.one-seed-draws-batches
    np.random.seed(seed)
    torch.manual_seed(seed)


def batches(lines, size):
    while True:
        yield encode(random.sample(lines, size))


def main(args):
    dist.init_process_group("gloo")
    fix_seeds(args.seed)
    model = DistributedDataParallel(Net())
    opt = torch.optim.AdamW(model.parameters())
    stream = batches(open(args.path).read().splitlines(), 32)
    for step in range(args.steps):
        loss = model(next(stream))
        loss.backward()
        opt.step()
        opt.zero_grad()
