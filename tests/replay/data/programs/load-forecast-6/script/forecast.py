"""Day-ahead electricity load from one week of hourly history (GRU, quantile loss)."""
import argparse
import csv
import math

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

QUANTILES = (0.1, 0.5, 0.9)


def make_series(meters, hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours).float()
    base = 1 + torch.rand(meters, 1, generator=g)
    day = torch.rand(meters, 1, generator=g) * torch.sin(2 * math.pi * (t / 24 + torch.rand(meters, 1, generator=g)))
    week = 0.3 * torch.cos(2 * math.pi * t / 168)
    return base + day + week + 0.08 * torch.randn(meters, hours, generator=g)


def windows(series, hist, horizon, stride):
    w = series.unfold(1, hist + horizon, stride).reshape(-1, hist + horizon)
    mean, std = w[:, :hist].mean(1, keepdim=True), w[:, :hist].std(1, keepdim=True)
    w = (w - mean) / std
    return TensorDataset(w[:, :hist].contiguous(), w[:, hist:].contiguous())


class GRUForecaster(nn.Module):
    def __init__(self, horizon, width=32):
        super().__init__()
        self.horizon = horizon
        self.rnn = nn.GRU(24, width, batch_first=True)
        self.out = nn.Linear(width, horizon * len(QUANTILES))

    def forward(self, x):
        _, h = self.rnn(x.view(len(x), -1, 24))
        return self.out(h[-1]).view(len(x), self.horizon, len(QUANTILES))


def pinball(pred, y):
    q = torch.tensor(QUANTILES)
    err = y.unsqueeze(-1) - pred
    return torch.maximum(q * err, (q - 1) * err).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--history", default="logs/history.csv")
    a = p.parse_args()

    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(3)
    train = DataLoader(windows(make_series(60, 24 * 70, 1), 168, 24, 24), a.batch, shuffle=True, drop_last=True)
    valid = DataLoader(windows(make_series(12, 24 * 70, 2), 168, 24, 24), 128)
    model = GRUForecaster(24)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    model, opt, train, valid = acc.prepare(model, opt, train, valid)
    acc.print(f"processes {acc.num_processes}, {len(train)} batches per process, device {acc.device}")

    rows = []
    for epoch in range(a.epochs):
        model.train()
        total = 0.0
        for x, y in train:
            with acc.accumulate(model):
                loss = pinball(model(x), y)
                acc.backward(loss)
                if acc.sync_gradients:
                    acc.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            v = [acc.gather_for_metrics((model(x)[..., 1] - y).abs()).mean() for x, y in valid]
        mae = torch.stack(v).mean().item()
        rows.append((epoch, total / len(train), mae))
        acc.print(f"epoch {epoch}  pinball {rows[-1][1]:.4f}  valid mae {mae:.4f}")
    if acc.is_main_process:
        with open(a.history, "w", newline="") as f:
            csv.writer(f).writerows([("epoch", "pinball", "mae"), *rows])
    acc.end_training()


if __name__ == "__main__":
    main()
