"""Churn score from account tables. Every machine keeps its region's export on its own disk."""
import argparse
import csv
import os
import pathlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

COLS = ["tenure", "calls", "data_gb", "bill", "tickets", "discount"]


def read_part(path):
    rows, labels = [], []
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            rows.append([float(r[c]) for c in COLS])
            labels.append(float(r["left"]))
    return torch.tensor(rows), torch.tensor(labels)


class Scorer(nn.Module):
    def __init__(self, d, h=64):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.net = nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, h), nn.GELU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(self.norm(x)).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("export", type=pathlib.Path)
    ap.add_argument("--passes", type=int, default=2)
    ap.add_argument("--batch", type=int, default=50)
    args = ap.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(rank)
    if rank == 0:
        print(f"{world} processes, restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)

    model = DDP(Scorer(len(COLS)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    lossf = nn.BCEWithLogitsLoss()
    parts = sorted(args.export.glob("part-*.csv"))[local::2]
    for n in range(args.passes):
        for part in parts:
            x, y = read_part(part)
            order = torch.randperm(len(y))
            total = 0.0
            for i in range(0, len(y), args.batch):
                take = order[i:i + args.batch]
                loss = lossf(model(x[take]), y[take])
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
            print(f"[{rank}] pass {n} {part.name}: {total / (len(y) // args.batch):.4f}", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), "churn.pt")
        print("saved churn.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
