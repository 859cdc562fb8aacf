"""Day-ahead load forecasting for a few hundred substations (synthetic meter data)."""
import argparse
import csv
import logging
import math
import os
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("load_forecast")


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--replicas", type=int, default=1, help="how many workers to spread the batch over")
    p.add_argument("--batch-per-replica", type=int, default=128)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--history", type=int, default=120)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--windows", type=int, default=2048)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--out", default="logs")
    return p.parse_args()


class Block(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.conv = nn.Conv1d(ch, 2 * ch, 3, padding=dilation, dilation=dilation)
        self.mix = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, dim=1)
        return x + self.mix(torch.tanh(a) * torch.sigmoid(b))


class LoadNet(nn.Module):
    def __init__(self, ch=24, horizon=24, history=120):
        super().__init__()
        self.inp = nn.Conv1d(1, ch, 1)
        self.blocks = nn.Sequential(*[Block(ch, 2 ** i) for i in range(5)])
        self.head = nn.Linear(ch, horizon)

    def forward(self, x):
        h = self.blocks(self.inp(x.unsqueeze(1)))
        return self.head(h[..., -24:].mean(-1))


def make_windows(n, history, horizon, seed=11):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(history + horizon).float()
    phase = torch.rand(n, 1, generator=g) * 24
    level = 0.5 + torch.rand(n, 1, generator=g)
    weekly = torch.rand(n, 1, generator=g) * 0.3
    y = level * (1 + 0.5 * torch.sin(2 * math.pi * (t + phase) / 24)
                 + weekly * torch.sin(2 * math.pi * (t + phase) / 168))
    y = y + 0.05 * torch.randn(y.shape, generator=g)
    return y[:, :history].contiguous(), y[:, history:].contiguous()


def main():
    args = get_args()
    os.makedirs(args.out, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    torch.set_num_threads(1)  # our nodes give one core to a worker
    torch.manual_seed(0)

    x, y = make_windows(args.windows, args.history, args.horizon)
    batch_size = args.batch_per_replica * args.replicas
    loader = DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, drop_last=True)

    model = LoadNet(horizon=args.horizon, history=args.history)
    if args.replicas > 1:
        model = nn.DataParallel(model, device_ids=list(range(args.replicas)))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.SmoothL1Loss(beta=0.1)

    log.info("pid %d replicas %d batch %d steps/epoch %d params %d", os.getpid(), args.replicas, batch_size,
             len(loader), sum(p.numel() for p in model.parameters()))

    rows = []
    for epoch in range(args.epochs):
        model.train()
        t0 = time.perf_counter()
        c0 = time.process_time()
        total = 0.0
        for xb, yb in loader:
            opt.zero_grad(set_to_none=True)
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()
        dt = time.perf_counter() - t0
        busy = (time.process_time() - c0) / dt
        rate = len(loader) * batch_size / dt
        log.info("epoch %d loss %.4f  %.1f s  %.0f windows/s  step %.0f ms  cpu %.2f cores", epoch, total / len(loader),
                 dt, rate, 1000 * dt / len(loader), busy)
        rows.append([args.replicas, batch_size, epoch, f"{total / len(loader):.4f}", f"{rate:.0f}", f"{dt:.2f}"])

    path = os.path.join(args.out, "throughput.csv")
    fresh = not os.path.exists(path)
    with open(path, "a", newline="") as f:
        w = csv.writer(f)
        if fresh:
            w.writerow(["replicas", "batch", "epoch", "loss", "windows_per_s", "seconds"])
        w.writerows(rows)
    torch.save(model.state_dict(), os.path.join(args.out, f"loadnet_r{args.replicas}.pt"))
    log.info("saved %s", os.path.join(args.out, f"loadnet_r{args.replicas}.pt"))


if __name__ == "__main__":
    main()
