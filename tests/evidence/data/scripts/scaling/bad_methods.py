"""Clipped in another method than the backward."""

import torch
from lib import Net, loader, setup
from torch.nn.parallel import DistributedDataParallel as DDP


class AmpTrainer:
    def __init__(self, cfg):
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg.fp16)
        self.net = DDP(Net().cuda())
        self.opt = torch.optim.Adam(self.net.parameters())

    def forward_backward(self, x):
        with torch.autocast("cuda", torch.float16):
            loss = self.net(x).mean()
        self.scaler.scale(loss).backward()

    def update(self):
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # distkb: script.clipped-before-unscale
        self.scaler.step(self.opt)
        self.scaler.update()

    def run(self):
        for x in loader():
            self.opt.zero_grad()
            self.forward_backward(x.cuda())
            self.update()


AmpTrainer(setup()).run()
