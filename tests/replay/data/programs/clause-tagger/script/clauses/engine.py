import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

log = logging.getLogger("clauses")


def grad_norm(params):
    sq = [p.grad.pow(2).sum() for p in params if p.grad is not None]
    return float(torch.stack(sq).sum().sqrt()) if sq else 0.0


class Engine:
    def __init__(self, cfg, model, train_set, dev_set):
        self.cfg = cfg
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.core = model
        # the word vectors are frozen
        self.model = DDP(model, find_unused_parameters=True)
        self.sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"])
        self.train_loader = DataLoader(train_set, cfg["batch_size"], sampler=self.sampler, drop_last=True)
        self.dev_loader = DataLoader(dev_set, 64, sampler=DistributedSampler(dev_set, shuffle=False))
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optim = torch.optim.AdamW(trainable, lr=cfg["lr"], weight_decay=0.0)
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.optim, lambda s: min(1.0, (s + 1) / cfg["warmup"])
        )
        self.step = 0
        if self.rank == 0:
            total = sum(p.numel() for p in model.parameters())
            log.info("parameters: %d total, %d trainable", total, sum(p.numel() for p in trainable))

    def train_epoch(self, epoch):
        self.model.train()
        self.sampler.set_epoch(epoch)
        started = time.time()
        for tokens, tags in self.train_loader:
            logits = self.model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
            self.optim.zero_grad(set_to_none=True)
            loss.backward()
            if self.step % self.cfg["log_every"] == 0:
                log.info(
                    "step %4d  loss %.4f  lr %.2e  gnorm encoder %.3f head %.3f",
                    self.step, loss.item(), self.sched.get_last_lr()[0],
                    grad_norm(self.core.encoder.parameters()), grad_norm(self.core.head.parameters()),
                )
            torch.nn.utils.clip_grad_norm_(self.core.parameters(), 1.0)
            self.optim.step()
            self.sched.step()
            self.step += 1
        if self.rank == 0:
            docs = len(self.train_loader) * self.cfg["batch_size"] * self.world
            log.info("epoch %d done, %.0f docs/s", epoch, docs / (time.time() - started))

    @torch.no_grad()
    def evaluate(self, epoch):
        self.model.eval()
        # true positives, predicted, gold
        stats = torch.zeros(3)
        for tokens, tags in self.dev_loader:
            pred = self.core(tokens).argmax(-1)
            keep = tags.ne(-100)
            pred, gold = pred[keep], tags[keep]
            stats[0] += ((pred == gold) & gold.gt(0)).sum()
            stats[1] += pred.gt(0).sum()
            stats[2] += gold.gt(0).sum()
        dist.all_reduce(stats)
        precision = float(stats[0] / stats[1].clamp(min=1))
        recall = float(stats[0] / stats[2].clamp(min=1))
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        if self.rank == 0:
            log.info("dev epoch %d  precision %.3f  recall %.3f  f1 %.3f", epoch, precision, recall, f1)
        return f1

    def save(self, name):
        if self.rank == 0:
            os.makedirs(self.cfg["out_dir"], exist_ok=True)
            path = os.path.join(self.cfg["out_dir"], name)
            torch.save(self.core.state_dict(), path)
            log.info("saved %s", path)
        dist.barrier()
