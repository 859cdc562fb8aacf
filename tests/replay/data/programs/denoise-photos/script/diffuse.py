import csv
import math
import os
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from photos import BucketPhotos


@dataclass
class Config:
    host: str = "127.0.0.1"
    port: int = int(os.environ.get("BUCKET_PORT", 29675))
    photos: int = 512
    batch_size: int = 16
    epochs: int = 3
    lr: float = 2e-3
    timesteps: int = 100
    width: int = 16
    seed: int = 17
    log_dir: str = os.environ.get("LOG_DIR", "logs")


class Denoiser(nn.Module):
    def __init__(self, width, timesteps):
        super().__init__()
        self.time = nn.Embedding(timesteps, width)
        self.inp = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 4, stride=2, padding=1)
        self.mid = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1)
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        h = torch.relu(self.inp(x) + self.time(t)[:, :, None, None])
        d = torch.relu(self.mid(torch.relu(self.down(h))))
        return self.out(torch.relu(self.up(d)) + h)


class Meter:
    def __init__(self):
        self.sum, self.n, self.last = 0.0, 0, 0.0

    def add(self, v):
        self.sum, self.n, self.last = self.sum + v, self.n + 1, v

    @property
    def avg(self):
        return self.sum / max(self.n, 1)


def main():
    cfg = Config()
    torch.set_num_threads(1)
    set_seed(cfg.seed)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=1)
    data = BucketPhotos(cfg.host, cfg.port, 0, cfg.photos)
    loader = DataLoader(data, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    net = Denoiser(cfg.width, cfg.timesteps)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    net, opt, loader = acc.prepare(net, opt, loader)
    alpha = torch.cos(torch.linspace(0, math.pi / 2 * 0.99, cfg.timesteps)) ** 2

    acc.print(f"{acc.num_processes} processes, {len(data)} photos, {len(loader)} steps per epoch")
    rows = None
    if acc.is_main_process:
        os.makedirs(cfg.log_dir, exist_ok=True)
        rows = csv.writer(open(os.path.join(cfg.log_dir, "steps.csv"), "w", buffering=1))
        rows.writerow(["epoch", "step", "loss", "data_s", "batch_s"])
    for epoch in range(cfg.epochs):
        data_time, batch_time, losses = Meter(), Meter(), Meter()
        begin = end = time.perf_counter()
        for step, x in enumerate(loader):
            data_time.add(time.perf_counter() - end)
            t = torch.randint(0, cfg.timesteps, (len(x),))
            a = alpha[t][:, None, None, None]
            noise = torch.randn_like(x)
            loss = nn.functional.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            losses.add(loss.item())
            batch_time.add(time.perf_counter() - end)
            end = time.perf_counter()
            if rows:
                rows.writerow([epoch, step, f"{losses.last:.4f}", f"{data_time.last:.3f}", f"{batch_time.last:.3f}"])
            if (step + 1) % 4 == 0:
                acc.print(f"Epoch [{epoch}][{step + 1}/{len(loader)}]  Time {batch_time.last:.3f} ({batch_time.avg:.3f})  "
                          f"Data {data_time.last:.3f} ({data_time.avg:.3f})  Loss {losses.last:.4f} ({losses.avg:.4f})")
        took = time.perf_counter() - begin
        acc.print(f"Epoch [{epoch}] finished in {took:.1f}s, {cfg.photos / took:.0f} photos/s")
    acc.end_training()


if __name__ == "__main__":
    main()
