"""Noise for each sample from generators that every rank seeds with one option."""

import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel


class Corruption:
    def __init__(self, sigma, seed):
        self.sigma = sigma
        self.source = torch.Generator(device="cuda")
        self.source.manual_seed(seed)  # distkb: script.one-seed-for-all

    def __call__(self, pictures):
        noise = torch.randn(pictures.shape, generator=self.source, device=pictures.device)
        return pictures + self.sigma * noise, noise


def number_source(options):
    return np.random.default_rng(options.seed + 17)  # distkb: script.one-seed-for-all


def levels(pictures, rng):
    count = len(pictures)
    return torch.from_numpy(rng.integers(0, 1000, size=count)).cuda()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(options.seed + dist.get_rank())
    corrupt = Corruption(0.1, options.seed)
    rng = number_source(options)
    model = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.Adam(model.parameters())
    for pictures in loader("train"):
        noisy, noise = corrupt(pictures.cuda())
        loss = torch.nn.functional.mse_loss(model(noisy, levels(pictures, rng)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
