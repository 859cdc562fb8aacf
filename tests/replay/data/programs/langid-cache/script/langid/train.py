import argparse
import json
import os
import socket
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from .features import LANGS, build


class Log:
    def __init__(self, folder, rank):
        os.makedirs(folder, exist_ok=True)
        self.f = open(os.path.join(folder, f"rank{rank}.jsonl"), "w", buffering=1)
        self.base = {"rank": rank, "host": socket.gethostname()}

    def __call__(self, event, **kw):
        self.f.write(json.dumps({"t": time.strftime("%H:%M:%S"), **self.base, "event": event, **kw}) + "\n")


def load_split(name, n, seed, a, rank, log):
    path = os.path.join(a.data, f"{name}_{n}_{a.buckets}.npz")
    if os.path.exists(path):
        log("features found", path=path)
    elif rank == 0:
        t = time.time()
        size = build(path, n, seed, a.buckets, a.width)
        log("features written", path=path, bytes=size, sec=round(time.time() - t, 2))
    else:
        log("waiting for features", path=path)
    dist.barrier()
    z = np.load(path)
    log("features loaded", path=path, rows=len(z["labels"]))
    return TensorDataset(torch.from_numpy(z["feats"]).long(), torch.from_numpy(z["labels"]))


class LangID(nn.Module):
    def __init__(self, buckets, dim=48):
        super().__init__()
        self.bag = nn.EmbeddingBag(buckets, dim, mode="mean", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, len(LANGS)))

    def forward(self, ids):
        return self.mlp(self.bag(ids))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--logs", default="logs")
    p.add_argument("--rows", type=int, default=6000)
    p.add_argument("--buckets", type=int, default=4096)
    p.add_argument("--width", type=int, default=80)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=64)
    a = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    log = Log(a.logs, rank)
    log("start", world=dist.get_world_size(), args=vars(a))

    train = load_split("train", a.rows, 1, a, rank, log)
    test = load_split("test", 1000, 2, a, rank, log)
    torch.manual_seed(3)
    model = DDP(LangID(a.buckets))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, a.batch, sampler=sampler)
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        model.train()
        run = 0.0
        for ids, y in loader:
            loss = nn.functional.cross_entropy(model(ids), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item()
        model.eval()
        with torch.no_grad():
            ids, y = test.tensors
            acc = (model.module(ids).argmax(1) == y).float().mean().item()
        log("epoch", epoch=epoch, loss=round(run / len(loader), 4), test_accuracy=round(acc, 4))
    if rank == 0:
        torch.save(model.module.state_dict(), os.path.join(a.data, "langid.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
