"""Hourly load forecasting with a small GRU. One process per core."""
import argparse
import csv
import math
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def make_series(n_sites=24, hours=1200, seed=7):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours).float()
    day = torch.sin(2 * math.pi * t / 24)
    week = torch.sin(2 * math.pi * t / 168)
    amp = 0.5 + torch.rand(n_sites, 2, generator=g)
    noise = 0.1 * torch.randn(n_sites, hours, generator=g)
    return amp[:, :1] * day + amp[:, 1:] * week + noise


class Windows(Dataset):
    def __init__(self, series, context=96, horizon=24, stride=24):
        self.series, self.c, self.h = series, context, horizon
        starts = range(0, series.size(1) - context - horizon, stride)
        self.index = [(s, o) for s in range(series.size(0)) for o in starts]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, o = self.index[i]
        x = self.series[s, o:o + self.c]
        y = self.series[s, o + self.c:o + self.c + self.h]
        return x.unsqueeze(-1), y


class Forecaster(nn.Module):
    def __init__(self, hidden, horizon=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


def worker(rank, args):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29500")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.procs)
    torch.manual_seed(args.seed)

    series = make_series()
    train, val = series[:, :960], series[:, 840:]
    ds = Windows(train)
    sampler = DistributedSampler(ds, shuffle=True, seed=args.seed)
    loader = DataLoader(ds, batch_size=args.batch, sampler=sampler)
    vds = Windows(val)
    vloader = DataLoader(vds, batch_size=128,
                         sampler=DistributedSampler(vds, shuffle=False))

    model = DDP(Forecaster(args.hidden))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    if rank == 0:
        print(f"[{args.tag}] {len(ds)} windows, {len(loader)} steps per epoch, "
              f"hidden {args.hidden}, lr {args.lr}", flush=True)
        out = open(os.path.join(args.out, f"{args.tag}.csv"), "w", newline="")
        table = csv.writer(out)
        table.writerow(["epoch", "train_mae", "val_mae", "seconds"])

    for epoch in range(args.epochs):
        t0 = time.time()
        sampler.set_epoch(epoch)
        model.train()
        tot = torch.zeros(2)
        for x, y in loader:
            loss = (model(x) - y).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += torch.tensor([loss.item(), 1.0])
        model.eval()
        vt = torch.zeros(2)
        with torch.no_grad():
            for x, y in vloader:
                vt += torch.tensor([(model(x) - y).abs().mean().item(), 1.0])
        both = torch.cat([tot, vt])
        dist.all_reduce(both)
        if rank == 0:
            tr, va = (both[0] / both[1]).item(), (both[2] / both[3]).item()
            print(f"[{args.tag}] epoch {epoch} train {tr:.4f} val {va:.4f}", flush=True)
            table.writerow([epoch, f"{tr:.4f}", f"{va:.4f}", f"{time.time() - t0:.1f}"])
            out.flush()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tag", required=True)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--procs", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="logs")
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    mp.spawn(worker, args=(args,), nprocs=args.procs)


if __name__ == "__main__":
    main()
