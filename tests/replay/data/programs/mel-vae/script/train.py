import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import ToneBank
from model import SpecVAE

log = logging.getLogger("vae")


def setup_logging(rank, path):
    os.makedirs(path, exist_ok=True)
    h = logging.FileHandler(os.path.join(path, f"train.rank{rank}.log"), mode="w")
    h.setFormatter(logging.Formatter(f"%(asctime)s [rank{rank}] %(message)s", "%H:%M:%S"))
    log.addHandler(h)
    log.setLevel(logging.INFO)


def grad_norm(params):
    return torch.stack([p.grad.norm() for p in params if p.grad is not None]).norm().item()


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(args.seed)
        self.model = DDP(SpecVAE())
        torch.manual_seed(args.seed + self.rank)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        train = ToneBank(1536, seed=1)
        self.sampler = DistributedSampler(train, shuffle=True, drop_last=True)
        self.loader = DataLoader(train, batch_size=args.batch_size, sampler=self.sampler, drop_last=True)
        # every rank scores the same held-out patches
        self.val = ToneBank(192, seed=2).x
        self.step = 0

    def train_step(self, x):
        y, mu, logvar = self.model(x)
        recon = F.mse_loss(y, x, reduction="none").sum(dim=(1, 2, 3)).mean()
        kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(dim=1).mean()

        self.opt.zero_grad(set_to_none=True)
        recon.backward(retain_graph=True)
        g_rec = grad_norm(self.model.parameters())
        (self.args.beta * kl).backward()
        g_all = grad_norm(self.model.parameters())
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
        self.opt.step()
        self.step += 1
        if self.step % 8 == 0:
            log.info("step %4d recon %8.3f kl %7.3f |g| recon %7.3f total %7.3f",
                     self.step, recon.item(), kl.item(), g_rec, g_all)

    @torch.no_grad()
    def validate(self, epoch):
        self.model.eval()
        y, mu, logvar = self.model.module(self.val)
        recon = F.mse_loss(y, self.val, reduction="none").sum(dim=(1, 2, 3)).mean()
        kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(dim=1).mean()
        log.info("epoch %2d valid (n=%d) recon %.4f kl %.4f mu.std %.4f", epoch, len(self.val), recon, kl, mu.std())
        self.model.train()
        return recon.item() + self.args.beta * kl.item()

    def fit(self):
        n = sum(p.numel() for p in self.model.parameters())
        log.info("world %d, %d parameters, %d steps per epoch", dist.get_world_size(), n, len(self.loader))
        self.validate(0)
        best = float("inf")
        for epoch in range(1, self.args.epochs + 1):
            self.sampler.set_epoch(epoch)
            for x in self.loader:
                self.train_step(x)
            score = self.validate(epoch)
            if self.rank == 0 and score < best:
                best = score
                torch.save(self.model.module.state_dict(), "best.pt")
                log.info("saved best.pt (%.4f)", score)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--beta", type=float, default=2.0)
    ap.add_argument("--clip", type=float, default=50.0)
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--log-dir", default="logs")
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    setup_logging(dist.get_rank(), args.log_dir)
    Trainer(args).fit()
    dist.destroy_process_group()
