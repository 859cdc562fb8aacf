import csv
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from .data import LeafScans
from .net import SmallUNet


class Trainer:
    def __init__(self, steps=60, batch=8, lr=2e-3, csv_dir="logs"):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.steps = steps
        self.data = LeafScans(4000, seed=5)
        self.sampler = DistributedSampler(self.data)
        self.loader = DataLoader(self.data, batch, sampler=self.sampler, drop_last=True)
        torch.manual_seed(9)
        self.model = DistributedDataParallel(SmallUNet())
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.file = open(os.path.join(csv_dir, f"steps_rank{self.rank}.csv"), "w", newline="")
        self.csv = csv.writer(self.file)
        self.csv.writerow(["step", "loss", "dice", "data_ms", "forward_ms", "backward_ms", "step_ms", "cpu_ms"])

    def banner(self):
        print(
            f"[{self.rank}] {socket.gethostname()} pid {os.getpid()} cpus {os.cpu_count()} "
            f"usable {sorted(os.sched_getaffinity(0))} torch threads {torch.get_num_threads()} "
            f"batch {self.loader.batch_size} x {self.world}",
            flush=True,
        )

    def fit(self):
        self.banner()
        it = iter(self.loader)
        begin = t0 = time.perf_counter()
        c0 = time.process_time()
        for step in range(self.steps):
            x, y = next(it)
            t1 = time.perf_counter()
            logit = self.model(x)
            loss = F.binary_cross_entropy_with_logits(logit, y, pos_weight=torch.tensor(4.0))
            t2 = time.perf_counter()
            self.opt.zero_grad()
            loss.backward()
            t3 = time.perf_counter()
            self.opt.step()
            with torch.no_grad():
                p = (logit > 0).float()
                dice = (2 * (p * y).sum() / (p.sum() + y.sum() + 1e-6)).item()
            t4, c4 = time.perf_counter(), time.process_time()
            ms = [round(1000 * v, 1) for v in (t1 - t0, t2 - t1, t3 - t2, t4 - t0, c4 - c0)]
            self.csv.writerow([step, round(loss.item(), 4), round(dice, 4), *ms])
            t0, c0 = time.perf_counter(), time.process_time()
            if self.rank == 0 and (step + 1) % 20 == 0:
                rate = (step + 1) * self.loader.batch_size * self.world / (t0 - begin)
                print(f"step {step + 1}/{self.steps} loss {loss.item():.4f} dice {dice:.3f} {rate:.1f} scans/s", flush=True)
        self.file.close()
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), "leafseg.pt")
            print("saved leafseg.pt", flush=True)
