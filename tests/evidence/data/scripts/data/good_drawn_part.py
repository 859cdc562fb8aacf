"""A hold-out that all ranks draw alike, and numbers that are meant to differ."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def build(data, model, args):
    torch.manual_seed(args.seed + dist.get_rank())
    held = np.random.default_rng(args.seed).random(len(data)) < args.holdout
    return data[~held], data[held], DistributedDataParallel(model)


def mask_tokens(tokens):
    chosen = torch.rand(tokens.shape) < 0.15
    tokens[chosen] = 0
    return tokens
