"""Each rank has a seed of its own."""

import random

import numpy as np
import torch
import torch.distributed as dist
from net import Net, encode
from torch.nn.parallel import DistributedDataParallel


def fix_seeds(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def batches(lines, size):
    while True:
        yield encode(random.sample(lines, size))


def main(args):
    dist.init_process_group("gloo")
    fix_seeds(args.seed + dist.get_rank())
    model = DistributedDataParallel(Net())
    opt = torch.optim.AdamW(model.parameters())
    stream = batches(open(args.path).read().splitlines(), 32)
    for step in range(args.steps):
        loss = model(next(stream))
        loss.backward()
        opt.step()
        opt.zero_grad()
