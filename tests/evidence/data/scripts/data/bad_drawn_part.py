"""A hold-out that every rank draws for itself."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def build(data, model, args):
    torch.manual_seed(args.seed + dist.get_rank())
    np.random.seed(args.seed + dist.get_rank())
    held = np.random.rand(len(data)) < args.holdout  # distkb: script.split-without-seed
    return data[~held], data[held], DistributedDataParallel(model)
