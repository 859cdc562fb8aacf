import argparse
import logging
import os
import platform
import socket
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from occupancy import windows


class Forecaster(nn.Module):
    def __init__(self, past=48, ahead=4, width=96):
        super().__init__()
        self.enc = nn.GRU(1, width, batch_first=True)
        self.norm = nn.BatchNorm1d(width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, ahead))

    def forward(self, x):
        h, _ = self.enc(x.unsqueeze(-1))
        return self.head(self.norm(h[:, -1]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--out", default="parking.pt")
    args = p.parse_args()

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logging.basicConfig(level=logging.INFO,
                        format=f"%(asctime)s [{os.environ.get('NODE', socket.gethostname())} r{rank}] %(message)s")
    log = logging.getLogger("parking")
    log.info("python %s, torch %s, %d threads", platform.python_version(), torch.__version__, torch.get_num_threads())
    log.info("connecting to %s:%s as %d of %d", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], rank, world)
    dist.init_process_group("gloo", timeout=timedelta(minutes=5))
    log.info("process group ready")

    torch.manual_seed(0)
    data = windows()
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, seed=11)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    model = DDP(Forecaster())
    log.info("model on %d ranks, %d windows, %d batches per epoch", world, len(data), len(loader))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_fn = nn.SmoothL1Loss(beta=0.1)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0, total = time.time(), 0.0
        for i, (x, y) in enumerate(loader):
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
            if i % 20 == 0:
                log.info("epoch %d step %d/%d loss %.4f", epoch, i, len(loader), loss.item())
        m = torch.tensor([total / len(loader)])
        dist.all_reduce(m)
        log.info("epoch %d done, mean loss %.4f, %.1fs", epoch, m.item() / world, time.time() - t0)
    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
        log.info("wrote %s", args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
