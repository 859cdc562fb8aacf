import logging
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

log = logging.getLogger("forecaster")


class Trainer:
    def __init__(self, model, train_set, valid_set, cfg):
        self.cfg = cfg
        self.rank = dist.get_rank()
        self.model = DDP(model)
        self.sampler = DistributedSampler(train_set, shuffle=True, seed=cfg.seed)
        self.train_dl = DataLoader(train_set, cfg.batch, sampler=self.sampler, drop_last=True)
        self.valid_dl = DataLoader(valid_set, 256)
        self.total_steps = cfg.epochs * len(self.train_dl)
        self.optimizer = None
        self.scheduler = None
        self.epoch = 0
        self.step = 0

    # ------------------------------------------------------------------ setup
    def configure(self):
        decay, plain = [], []
        for p in self.model.parameters():
            (decay if p.ndim > 1 else plain).append(p)
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}],
            lr=self.cfg.lr, betas=(0.9, 0.98))
        warm = self.cfg.warmup

        def curve(s):
            if s < warm:
                return (s + 1) / warm
            t = (s - warm) / max(1, self.total_steps - warm)
            return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * t))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, curve)

    # ------------------------------------------------------------ checkpoints
    def path(self):
        return os.path.join(self.cfg.out, "last.pt")

    def save(self):
        if self.rank == 0:
            os.makedirs(self.cfg.out, exist_ok=True)
            torch.save({
                "model": self.model.module.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "epoch": self.epoch,
                "step": self.step,
            }, self.path())
            log.info("saved %s (epoch %d, step %d)", self.path(), self.epoch, self.step)
        dist.barrier()

    def restore(self):
        state = torch.load(self.path(), map_location="cpu")
        if self.optimizer is None:
            self.configure()
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch = state["epoch"]
        self.step = state["step"]
        log.info("restored %s: epoch %d, step %d", self.path(), self.epoch, self.step)

    # ------------------------------------------------------------------ loops
    def fit(self):
        self.configure()
        while self.epoch < self.cfg.epochs:
            self.sampler.set_epoch(self.epoch)
            self.train_epoch()
            self.epoch += 1
            v = self.validate()
            log.info("epoch %d done | valid mae %.4f", self.epoch, v)
            self.save()
            if self.cfg.stop_after and self.epoch >= self.cfg.stop_after:
                log.info("stop after epoch %d as asked", self.epoch)
                return

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_dl:
            loss = torch.nn.functional.huber_loss(self.model(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            gn = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            lr = self.scheduler.get_last_lr()[0]
            self.scheduler.step()
            self.step += 1
            if self.step % self.cfg.log_every == 0:
                log.info("step %4d/%d loss %.5f lr %.2e gnorm %.3f", self.step, self.total_steps, loss.item(), lr, gn)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        tot = n = 0
        for x, y in self.valid_dl:
            tot += (self.model.module(x) - y).abs().sum().item()
            n += y.numel()
        return tot / n
