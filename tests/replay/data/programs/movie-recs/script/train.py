import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from checkpoint import Checkpointer

USERS, ITEMS, DIM = 240, 160, 24


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding(ITEMS, DIM)
        self.utower = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, DIM))
        self.itower = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, DIM))

    def forward(self, u, i):
        return (self.utower(self.user(u)) * self.itower(self.item(i))).sum(-1) / DIM ** 0.5


class Ratings:
    """Synthetic ratings of a low-rank world; batch of a step is a function of the step."""

    def __init__(self):
        g = torch.Generator().manual_seed(11)
        self.u = torch.randn(USERS, 4, generator=g)
        self.i = torch.randn(ITEMS, 4, generator=g)

    def batch(self, step, size):
        g = torch.Generator().manual_seed(1000 + step)
        u = torch.randint(USERS, (size,), generator=g)
        i = torch.randint(ITEMS, (size,), generator=g)
        r = (self.u[u] * self.i[i]).sum(-1) / 2
        return u, i, r + 0.05 * torch.randn(size, generator=g)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", default="logs")
    ap.add_argument("--ckpt", default="ckpt")
    ap.add_argument("--until", type=int, default=600)
    ap.add_argument("--global-batch", type=int, default=1024)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--resume", action="store_true")
    a = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model = FSDP(TwoTower(), device_id=torch.device("cpu"), use_orig_params=False)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr, betas=(0.9, 0.999))
    ck = Checkpointer(a.ckpt)
    out = open(os.path.join(a.out, "metrics.jsonl"), "a") if rank == 0 else None

    def emit(**kw):
        if out:
            out.write(json.dumps(kw) + "\n")
            out.flush()

    start = 0
    if a.resume:
        start, n = ck.load(model, opt)
        emit(event="resume", step=start, world=world, optimizer_entries=n)
    else:
        emit(event="start", step=0, world=world, global_batch=a.global_batch, lr=a.lr)

    data, per = Ratings(), a.global_batch // world
    t0, run = time.time(), []
    for step in range(start, a.until):
        u, i, r = (t[rank * per:(rank + 1) * per] for t in data.batch(step, a.global_batch))
        loss = nn.functional.mse_loss(model(u, i), r)
        loss.backward()
        opt.step()
        opt.zero_grad()
        run.append(loss.detach())
        if (step + 1) % 10 == 0:
            mean = torch.stack(run).mean()
            dist.all_reduce(mean)
            emit(step=step + 1, loss=round(mean.item() / world, 4), lr=opt.param_groups[0]["lr"],
                 sec=round(time.time() - t0, 1))
            run = []
    ck.save(model, opt, a.until)
    emit(event="saved", step=a.until, dir=a.ckpt)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
