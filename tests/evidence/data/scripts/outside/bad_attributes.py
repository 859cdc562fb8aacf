"""A decoder and a parameter beside the wrapped encoder."""

import itertools
import os

import torch
import torch.distributed as dist
from nets import Decoder, Encoder
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from data import loader


class Trainer:
    def __init__(self, local):
        self.device = torch.device("cuda", local)
        self.encoder = DDP(Encoder().to(self.device), device_ids=[local])
        self.decoder = Decoder().to(self.device)
        self.log_sigma = nn.Parameter(torch.zeros(3, device=self.device))
        self.opt = torch.optim.AdamW(  # distkb: script.parameters-outside-ddp
            itertools.chain(
                self.encoder.parameters(), self.decoder.parameters(), [self.log_sigma]
            ),
            lr=1e-3,
        )

    def train(self):
        for x in loader():
            x = x.to(self.device)
            rec = self.decoder(self.encoder(x))
            loss = ((rec - x) ** 2).mean() * torch.exp(
                -self.log_sigma
            ).sum() + self.log_sigma.sum()
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()


if __name__ == "__main__":
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    Trainer(rank).train()
