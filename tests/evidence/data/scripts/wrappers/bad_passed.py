"""A model that an object gets wrapped."""

import os

import torch
import torch.distributed as dist
from net import VAE
from torch.nn.parallel import DistributedDataParallel as DDP

from data import make_loader


class Runner:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.opt = torch.optim.Adam(model.parameters())

    def fit(self):
        for x in self.loader:
            rec, mu, logvar = self.model(x.cuda())
            loss = self.model.elbo(x.cuda(), rec, mu, logvar)  # distkb: script.attribute-of-wrapper
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


def main():
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Runner(DDP(VAE().cuda()), make_loader()).fit()


if __name__ == "__main__":
    main()
