import argparse
import csv
import sys
import time

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import ModelParallelStrategy
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from twotower import TwoTower, clicks

N_USERS, N_ITEMS = 400, 150


def parallelize(model, mesh):
    dp = mesh["data_parallel"]
    for part in (model.users, model.items, model.mlp):
        fully_shard(part, mesh=dp)
    return fully_shard(model, mesh=dp)


def auc(score, label):
    order = score.argsort()
    rank = torch.empty_like(score)
    rank[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    pos = label.sum()
    neg = len(label) - pos
    return ((rank[label > 0].sum() - pos * (pos + 1) / 2) / (pos * neg)).item()


def table_norm(model):
    return sum(t.weight.full_tensor().norm().item() for t in (model.users, model.items))


def main(argv):
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--table-lr", type=float, default=0.1)
    ap.add_argument("--history", default="history.csv")
    args = ap.parse_args(argv)

    fabric = Fabric(
        accelerator="cpu",
        devices=2,
        strategy=ModelParallelStrategy(parallelize, data_parallel_size=2, tensor_parallel_size=1),
    )
    fabric.launch()
    torch.manual_seed(1)

    model = TwoTower(N_USERS, N_ITEMS)
    fabric.print(f"{sum(p.numel() for p in model.parameters())} parameters")
    table_opt = torch.optim.Adagrad([model.users.weight, model.items.weight], lr=args.table_lr)
    model = fabric.setup_module(model)
    mlp_opt = torch.optim.AdamW(model.mlp.parameters(), lr=args.lr)
    mlp_opt = fabric.setup_optimizers(mlp_opt)

    train = clicks(20000, N_USERS, N_ITEMS, seed=10 + fabric.global_rank)
    valid = clicks(4000, N_USERS, N_ITEMS, seed=2)
    rows = []
    for epoch in range(args.epochs):
        t0 = time.time()
        perm = torch.randperm(len(train[0]), generator=torch.Generator().manual_seed(epoch))
        running = 0.0
        for k in range(0, len(perm), args.batch):
            u, i, y = (t[perm[k : k + args.batch]] for t in train)
            loss = bce(model(u, i), y)
            fabric.backward(loss)
            mlp_opt.step()
            table_opt.step()
            model.zero_grad()
            running += loss.item() * len(y)
        with torch.no_grad():
            a = auc(model(valid[0], valid[1]), valid[2])
        norm = table_norm(model)
        mean = fabric.all_reduce(torch.tensor(running / len(perm)), reduce_op="mean").item()
        rows.append([epoch, round(mean, 4), round(a, 4), round(norm, 4), round(time.time() - t0, 1)])
        fabric.print("epoch {} loss {} valid auc {} table norm {} ({} s)".format(*rows[-1]))
    if fabric.is_global_zero:
        with open(args.history, "w", newline="") as fh:
            w = csv.writer(fh)
            w.writerow(["epoch", "loss", "valid_auc", "table_norm", "seconds"])
            w.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
