"""Generators that differ from rank to rank, or from which nothing is drawn for the samples that are trained on."""

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
        self.source.manual_seed(seed)

    def __call__(self, pictures):
        noise = torch.randn(pictures.shape, generator=self.source, device=pictures.device)
        return pictures + self.sigma * noise, noise


def levels(pictures, rng):
    return torch.from_numpy(rng.integers(0, 1000, size=len(pictures))).cuda()


def sizes(generator):
    """One size for all ranks, so that a step takes as long on each."""
    return int(torch.randint(4, 9, (1,), generator=generator)) * 32


def objective(model, pictures, generator=None):
    """Draws from the generator that is fixed for evaluation, and in training from that of the rank."""
    noise = torch.randn(pictures.shape, generator=generator, device="cuda")
    return torch.nn.functional.mse_loss(model(pictures + noise), noise)


@torch.no_grad()
def evaluate(model, val_loader, seed):
    fixed = torch.Generator(device="cuda").manual_seed(seed)
    errors = []
    for pictures in val_loader:
        noise = torch.randn(pictures.shape, generator=fixed, device="cuda")
        errors.append(torch.nn.functional.mse_loss(model(pictures.cuda() + noise), noise))
        errors.append(objective(model, pictures.cuda(), fixed))
    return torch.stack(errors).mean()


@torch.no_grad()
def preview(model, pictures, seed):
    shown = torch.Generator(device="cuda").manual_seed(seed)
    return model(pictures + torch.randn(pictures.shape, generator=shown, device="cuda"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    corrupt = Corruption(0.1, options.seed + dist.get_rank())
    rng = np.random.default_rng([options.seed, dist.get_rank()])
    alike = torch.Generator().manual_seed(options.seed)
    model = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.Adam(model.parameters())
    for step, pictures in enumerate(loader("train")):
        side = sizes(alike)
        noisy, noise = corrupt(torch.nn.functional.interpolate(pictures.cuda(), size=side))
        loss = torch.nn.functional.mse_loss(model(noisy, levels(pictures, rng)), noise)
        loss = loss + objective(model, pictures.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            preview(model, pictures.cuda(), options.seed)
            evaluate(model, loader("val"), options.seed)


main()
