#!/usr/bin/env python
"""Small DDPM on 16x16 glyphs.  python ddpm.py --workers 2 --scratch /scratch/me"""
import argparse
import copy
import csv
import math
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


def glyphs(n, seed):
    """Random bars, boxes and diagonals, values in [-1, 1]."""
    g = torch.Generator().manual_seed(seed)
    img = -torch.ones(n, 1, 16, 16)
    kind = torch.randint(0, 3, (n,), generator=g)
    pos = torch.randint(2, 10, (n, 2), generator=g)
    for i in range(n):
        r, c = pos[i].tolist()
        if kind[i] == 0:
            img[i, 0, r : r + 2, :] = 1
        elif kind[i] == 1:
            img[i, 0, r : r + 5, c : c + 5] = 1
        else:
            idx = torch.arange(16 - r)
            img[i, 0, idx + r, idx] = 1
    return img


def time_embedding(t, dim):
    freq = torch.exp(-math.log(1e4) * torch.arange(dim // 2) / (dim // 2))
    a = t[:, None].float() * freq[None]
    return torch.cat([a.sin(), a.cos()], 1)


class Block(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.c2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.n = nn.GroupNorm(8, cout)
        self.t = nn.Linear(tdim, cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = F.silu(self.c1(x)) + self.t(t)[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n(h)))


class UNet(nn.Module):
    def __init__(self, ch=48, tdim=64):
        super().__init__()
        self.tdim = tdim
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.d1 = Block(ch, ch, tdim)
        self.d2 = Block(ch, 2 * ch, tdim)
        self.mid = Block(2 * ch, 2 * ch, tdim)
        self.u1 = Block(3 * ch, ch, tdim)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        e = time_embedding(t, self.tdim)
        h1 = self.d1(self.inp(x), e)
        h2 = self.mid(self.d2(F.avg_pool2d(h1, 2), e), e)
        return self.out(self.u1(torch.cat([h1, F.interpolate(h2, scale_factor=2)], 1), e))


class Trainer:
    def __init__(self, rank, args):
        self.rank, self.args = rank, args
        self.run_dir = Path(args.scratch) / args.name
        torch.manual_seed(0)
        self.model = UNet()
        self.ema = copy.deepcopy(self.model).requires_grad_(False)
        self.ddp = DistributedDataParallel(self.model)
        self.opt = torch.optim.AdamW(self.ddp.parameters(), lr=args.lr)
        beta = torch.linspace(1e-4, 0.02, 200)
        self.abar = torch.cumprod(1 - beta, 0)
        self.data = glyphs(2048, seed=100 + rank)
        self.gen = torch.Generator().manual_seed(rank)
        if rank == 0:
            self.run_dir.mkdir(parents=True, exist_ok=True)
            self.csv = open(args.metrics, "w", newline="")
            self.writer = csv.writer(self.csv)
            self.writer.writerow(["step", "loss", "sec_per_step"])

    def train_step(self):
        idx = torch.randint(0, len(self.data), (self.args.batch,), generator=self.gen)
        x0 = self.data[idx]
        t = torch.randint(0, 200, (len(x0),), generator=self.gen)
        noise = torch.randn(x0.shape, generator=self.gen)
        a = self.abar[t][:, None, None, None]
        loss = F.mse_loss(self.ddp(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for e, p in zip(self.ema.parameters(), self.model.parameters()):
                e.lerp_(p, 0.01)
        return loss.detach()

    def save(self, step):
        path = self.run_dir / f"step_{step:06d}.pt"
        torch.save(
            {
                "step": step,
                "model": self.model.state_dict(),
                "ema": self.ema.state_dict(),
                "opt": self.opt.state_dict(),
                "args": vars(self.args),
            },
            path,
        )
        print(f"[{time.strftime('%H:%M:%S')}] wrote {path}", flush=True)

    def fit(self):
        t0 = time.time()
        for step in range(1, self.args.steps + 1):
            loss = self.train_step()
            if step % self.args.log_every == 0:
                dist.all_reduce(loss, op=dist.ReduceOp.SUM)
                loss /= dist.get_world_size()
                if self.rank == 0:
                    dt = (time.time() - t0) / self.args.log_every
                    print(f"step {step:5d}  loss {loss.item():.4f}  {dt:.3f} s/step", flush=True)
                    self.writer.writerow([step, f"{loss.item():.5f}", f"{dt:.4f}"])
                    self.csv.flush()
                t0 = time.time()
            if self.rank == 0 and step % self.args.save_every == 0:
                self.save(step)


def worker(rank, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{args.port}", rank=rank, world_size=args.workers)
    tr = Trainer(rank, args)
    if rank == 0:
        n = sum(p.numel() for p in tr.model.parameters())
        print(f"model {n/1e6:.2f} M parameters, {args.workers} workers, batch {args.batch} each", flush=True)
    tr.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--port", type=int, default=29511)
    ap.add_argument("--scratch", default="/scratch")
    ap.add_argument("--name", default="glyph-ddpm")
    ap.add_argument("--metrics", default="metrics.csv")
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--log-every", type=int, default=10)
    ap.add_argument("--save-every", type=int, default=10)
    args = ap.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.workers)
