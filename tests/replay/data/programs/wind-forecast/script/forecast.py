"""Day-ahead wind speed for a park.  python forecast.py --procs 4"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from park import Windows, wind_series


class Mixer(nn.Module):
    def __init__(self, history, horizon, hidden, depth):
        super().__init__()
        self.inp = nn.Linear(history, hidden)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, hidden))
            for _ in range(depth)
        )
        self.out = nn.Linear(hidden, horizon)

    def forward(self, x):
        h = self.inp(x)
        for layer in self.layers:
            h = h + layer(h)
        return self.out(h)


def report_machine():
    print(f"torch {torch.__version__} on {os.uname().sysname}", flush=True)
    for line in torch.__config__.parallel_info().splitlines():
        if line.strip():
            print("  " + line, flush=True)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--turbines", type=int, default=24)
    ap.add_argument("--hours", type=int, default=600)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--procs", type=int, default=4)
    ap.add_argument("--port", type=int, default=29377)
    return ap.parse_args()


def work(rank, args):
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{args.port}", rank=rank, world_size=args.procs
    )
    if rank == 0:
        report_machine()
    torch.manual_seed(3)
    series = wind_series(args.turbines, args.hours, seed=5)
    mu, sd = series.mean(), series.std()
    data = Windows((series - mu) / sd)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(Mixer(data.h, data.f, args.hidden, args.depth))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        t_data = t_step = 0.0
        tic = time.perf_counter()
        for x, y in loader:
            t_data += time.perf_counter() - tic
            tic = time.perf_counter()
            loss = nn.functional.l1_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            t_step += time.perf_counter() - tic
            step += 1
            if rank == 0 and step % 5 == 0:
                rate = 5 * args.batch * dist.get_world_size() / (t_data + t_step)
                print(
                    f"step {step:4d} mae {loss.item() * sd:.3f} m/s | data {t_data / 5:.3f} s, "
                    f"compute {t_step / 5:.3f} s per step | {rate:.0f} windows/s",
                    flush=True,
                )
                t_data = t_step = 0.0
            if step == args.steps:
                break
            tic = time.perf_counter()
    dist.destroy_process_group()


if __name__ == "__main__":
    args = parse()
    mp.spawn(work, args=(args,), nprocs=args.procs)
