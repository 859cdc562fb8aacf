import json
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def block(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


def tile_net():
    return nn.Sequential(block(1, 16, 1), block(16, 32, 2), block(32, 32, 2),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 6))


def load(path):
    z = np.load(path)
    return torch.from_numpy(z["x"]), torch.from_numpy(z["y"])


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    hits = sum((net(x[i:i + 64]).argmax(1) == y[i:i + 64]).sum().item() for i in range(0, len(x), 64))
    net.train()
    return hits / len(x)


class Trainer:
    def __init__(self, cfg, rank, world):
        self.cfg, self.rank, self.world = cfg, rank, world
        torch.manual_seed(cfg["seed"])
        self.net = DistributedDataParallel(tile_net(), broadcast_buffers=False, gradient_as_bucket_view=True)
        self.opt = torch.optim.SGD(self.net.parameters(), cfg["lr"], momentum=0.9, weight_decay=1e-4)
        shards = sorted(f for f in os.listdir(cfg["data"]) if f.startswith("train"))[rank::world]
        xs, ys = zip(*(load(os.path.join(cfg["data"], s)) for s in shards))
        self.x, self.y = torch.cat(xs), torch.cat(ys)
        self.vx, self.vy = load(os.path.join(cfg["data"], "valid.npz"))
        self.out = open(os.path.join(cfg["logs"], f"events.{rank}.jsonl"), "w")
        self.log(event="start", shards=shards, tiles=len(self.x), valid=len(self.vx))

    def log(self, **kw):
        self.out.write(json.dumps(kw) + "\n")
        self.out.flush()

    def epoch(self, n):
        t0, total = time.time(), 0.0
        order = torch.randperm(len(self.x), generator=torch.Generator().manual_seed(n * self.world + self.rank))
        batches = order.split(self.cfg["batch"])
        for idx in batches:
            loss = nn.functional.cross_entropy(self.net(self.x[idx]), self.y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(batches), time.time() - t0

    def fit(self):
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, self.cfg["epochs"])
        for n in range(self.cfg["epochs"]):
            loss, secs = self.epoch(n)
            sched.step()
            acc = accuracy(self.net.module, self.vx, self.vy)
            self.log(event="epoch", epoch=n, loss=round(loss, 4), valid_acc=round(acc, 4), secs=round(secs, 2))
            mean = torch.tensor([loss, acc])
            dist.all_reduce(mean)
            mean /= self.world
            if self.rank == 0:
                print(f"epoch {n}  loss {mean[0]:.4f}  valid acc {mean[1]:.4f}  lr {sched.get_last_lr()[0]:.4f}", flush=True)
        if self.rank == 0:
            torch.save(self.net.module.state_dict(), self.cfg["ckpt"])
            print("saved", self.cfg["ckpt"], flush=True)
