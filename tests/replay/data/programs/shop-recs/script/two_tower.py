#!/usr/bin/env python
"""Two-tower retrieval on click logs. Gradients are averaged inside a machine at every step,
parameters over all machines every --sync-every steps."""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--users", type=int, default=400)
    p.add_argument("--items", type=int, default=160)
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.5)
    p.add_argument("--steps", type=int, default=160)
    p.add_argument("--sync-every", type=int, default=8)
    p.add_argument("--per-host", type=int, default=2)
    p.add_argument("--history", default="history")
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(users, dim), nn.Linear(dim, dim))
        self.item = nn.Sequential(nn.Embedding(items, dim), nn.Linear(dim, dim))

    def forward(self, u, i):
        return self.user(u) @ self.item(i).T / self.user[1].out_features ** 0.5


class Clicks:
    """Users like the items of their own taste (user id modulo 8)."""

    def __init__(self, args, rank):
        self.g = torch.Generator().manual_seed(args.seed * 1000 + rank)
        self.args = args

    def next(self):
        a = self.args
        u = torch.randint(a.users, (a.batch,), generator=self.g)
        i = torch.randint(a.items // 8, (a.batch,), generator=self.g) * 8 + u % 8
        noise = torch.rand(a.batch, generator=self.g) < 0.05
        i[noise] = torch.randint(a.items, (int(noise.sum()),), generator=self.g)
        return u, i


def host_groups(per_host):
    world = dist.get_world_size()
    for first in range(0, world, per_host):
        group = dist.new_group(list(range(first, first + per_host)))
    return group


def average_grads(model, group):
    n = dist.get_world_size(group)
    for p in model.parameters():
        dist.all_reduce(p.grad, group=group)
        p.grad.div_(n)


@torch.no_grad()
def average_params(model):
    for p in model.parameters():
        dist.all_reduce(p)
        p.div_(dist.get_world_size())


@torch.no_grad()
def hit_rate(model, args, k=20):
    u = torch.arange(args.users)
    top = model(u, torch.arange(args.items)).topk(k).indices
    return (top % 8 == (u % 8)[:, None]).float().mean().item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    model = TwoTower(args.users, args.items, args.dim)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    clicks = Clicks(args, rank)
    group = host_groups(args.per_host)
    os.makedirs(args.history, exist_ok=True)
    hist = open(os.path.join(args.history, f"rank{rank}.jsonl"), "w")
    if rank == 0:
        print(f"world {dist.get_world_size()} params {sum(p.numel() for p in model.parameters())} {vars(args)}", flush=True)

    t0 = time.time()
    for step in range(1, args.steps + 1):
        u, i = clicks.next()
        scores = model(u, i)
        loss = F.cross_entropy(scores - (i[:, None] == i[None]).float().fill_diagonal_(0) * 1e4,
                               torch.arange(len(u)))
        opt.zero_grad()
        loss.backward()
        average_grads(model, group)
        gnorm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if step % args.sync_every == 0:
            average_params(model)
        if step % 4 == 0:
            hist.write(json.dumps({"step": step, "loss": round(loss.item(), 4), "gnorm": round(gnorm.item(), 4),
                                   "host_world": dist.get_world_size(group), "host_rank": dist.get_rank(group)}) + "\n")
            hist.flush()
        if step % 16 == 0 and rank == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}  hit@20 {hit_rate(model, args):.3f}  {time.time() - t0:.1f}s", flush=True)
    if rank == 0:
        torch.save(model.state_dict(), os.path.join(args.history, "two_tower.pt"))
        print("saved", os.path.join(args.history, "two_tower.pt"), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
