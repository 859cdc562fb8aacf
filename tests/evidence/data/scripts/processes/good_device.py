"""Each process has a GPU of its own."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader
from dataclasses import dataclass


@dataclass
class Config:
    device: str = "cuda:0"
    lr: float = 0.1


class T:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.model = DDP(Net().to(cfg.device))
        self.opt = torch.optim.SGD(self.model.parameters(), cfg.lr)

    def run(self):
        for x in loader():
            self.opt.zero_grad()
            self.model(x.to(self.cfg.device)).backward()
            self.opt.step()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    T(Config()).run()


main()
