import csv
import logging
import socket
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("nowcast")


def load(folder):
    series = []
    for path in sorted(Path(folder).glob("gauge_*.csv")):
        with open(path) as fh:
            series.append([float(r["mm"]) for r in csv.DictReader(fh)])
    return torch.tensor(series)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {socket.gethostname()} [{rank}/{world}] %(message)s")
    rain = load("data").log1p()
    log.info("%d gauges, %d hours", *rain.shape)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    g = torch.Generator().manual_seed(rank)
    for step in range(1, 201):
        row = torch.randint(0, rain.shape[0], (64,), generator=g)
        start = torch.randint(0, rain.shape[1] - 13, (64,), generator=g)
        idx = start[:, None] + torch.arange(13)
        w = rain[row[:, None], idx]
        loss = nn.functional.mse_loss(model(w[:, :12])[:, 0], w[:, 12])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            log.info("step %d mse %.4f", step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
