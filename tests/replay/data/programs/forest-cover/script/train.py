import argparse
import logging
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

logger = logging.getLogger("cover")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--ckpt", default="work/last.pt")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--save-every", type=int, default=25)
    return p.parse_args()


def clean_table(root):
    """Standardise the columns and bring the labels to 0..6."""
    xf, yf = os.path.join(root, "features.npy"), os.path.join(root, "cover_type.npy")
    x, y = np.load(xf), np.load(yf)
    x = (x - x.mean(0)) / x.std(0)
    np.save(xf, x.astype(np.float32))
    np.save(yf, y - 1)
    logger.info("table ready: %d rows, %d columns", *x.shape)


def load_table(root, rank):
    if rank == 0:
        clean_table(root)
    dist.barrier()
    x = torch.from_numpy(np.load(os.path.join(root, "features.npy")))
    y = torch.from_numpy(np.load(os.path.join(root, "cover_type.npy")))
    perm = torch.randperm(len(y), generator=torch.Generator().manual_seed(7))
    cut = int(0.9 * len(y))
    return (
        TensorDataset(x[perm[:cut]], y[perm[:cut]]),
        TensorDataset(x[perm[cut:]], y[perm[cut:]]),
    )


class TabNet(nn.Module):
    def __init__(self, d_in, d=128, depth=4, classes=7):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d)) for _ in range(depth)
        )
        self.out = nn.Linear(d, classes)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h)


def save(path, model, opt, epoch, step):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    tmp = path + ".tmp"
    torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch, "step": step}, tmp)
    os.replace(tmp, path)
    logger.info("checkpoint at step %d -> %s", step, path)


@torch.no_grad()
def validate(model, data, rank, world):
    x, y = data.tensors
    x, y = x[rank::world], y[rank::world]
    hit = (model.module(x).argmax(1) == y).sum()
    s = torch.tensor([hit.item(), len(y)], dtype=torch.float64)
    dist.all_reduce(s)
    return (s[0] / s[1]).item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s rank{rank} %(message)s", datefmt="%H:%M:%S"
    )
    torch.manual_seed(0)
    logger.info("pid %d, world %d", os.getpid(), world)

    train, val = load_table(args.data, rank)
    sampler = DistributedSampler(train, world, rank, seed=5, drop_last=True)
    loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(TabNet(train.tensors[0].shape[1]))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)

    epoch0 = step = 0
    if os.path.exists(args.ckpt):
        state = torch.load(args.ckpt, map_location="cpu")
        model.module.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        epoch0, step = state["epoch"], state["step"]
        logger.info("continuing from %s: epoch %d step %d", args.ckpt, epoch0, step)

    per_epoch = len(loader)
    for epoch in range(epoch0, args.epochs):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            if epoch * per_epoch + i < step:
                continue
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step += 1
            if step % 20 == 0:
                logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            if rank == 0 and step % args.save_every == 0:
                save(args.ckpt, model, opt, epoch, step)
        acc = validate(model, val, rank, world)
        if rank == 0:
            logger.info("epoch %d validation accuracy %.4f", epoch, acc)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
