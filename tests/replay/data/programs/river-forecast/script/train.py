import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from feed import Feed

log = logging.getLogger("river")


class Forecaster(nn.Module):
    def __init__(self, window, horizon, d=64, layers=3):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.pos = nn.Parameter(torch.zeros(window, d))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(d, 4, 2 * d, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers))
        self.head = nn.Linear(d, horizon)

    def forward(self, x):
        h = self.inp(x) + self.pos
        for l in self.layers:
            h = l(h)
        return self.head(h[:, -1])


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/train")
    p.add_argument("--window", type=int, default=48)
    p.add_argument("--horizon", type=int, default=12)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args()


def main():
    a = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s r{rank} %(message)s", datefmt="%H:%M:%S")
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    model = Forecaster(a.window, a.horizon)
    for l in model.layers:
        fully_shard(l, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    feed = Feed(a.data, rank, world, a.window, a.horizon, a.batch, epochs=10)
    log.info("host %s pid %d world %d", os.uname().nodename, os.getpid(), world)
    if rank == 0:
        log.info("%d basins in %s, %.2fM parameters", len(feed.files), a.data,
                 sum(p.numel() for p in model.parameters()) / 1e6)
    log.info("training starts")
    t0 = time.time()
    for step in range(1, a.steps + 1):
        x, y = feed.next()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 10 == 0:
            log.info("step %d loss %.4f  %.2f it/s", step, loss.item(), step / (time.time() - t0))
    log.info("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
