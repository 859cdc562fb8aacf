import argparse
import csv
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from windows import LoadWindows


def get_args():
    p = argparse.ArgumentParser(description="Day-ahead load forecaster")
    p.add_argument("--hours", type=int, default=24 * 180)
    p.add_argument("--context", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--out", type=Path, default=Path("out"))
    p.add_argument("--no-cuda", action="store_true")
    p.add_argument("--local_rank", type=int, default=0)
    return p.parse_args()


class Forecaster(nn.Module):
    def __init__(self, hidden, horizon):
        super().__init__()
        self.conv = nn.Conv1d(1, hidden, 25, stride=6, padding=12)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, x):
        h = torch.relu(self.conv(x.unsqueeze(1))).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.head(h[:, -1])


def run_epoch(model, loader, device, opt=None):
    total = torch.zeros(2, device=device)
    model.train(opt is not None)
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = nn.functional.smooth_l1_loss(model(x), y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += torch.stack([loss.detach() * len(x), torch.tensor(float(len(x)), device=device)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    args = get_args()
    torch.set_num_threads(1)
    use_cuda = torch.cuda.is_available() and not args.no_cuda
    device = torch.device("cuda", args.local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        args.out.mkdir(parents=True, exist_ok=True)
        print(f"world size {world}, device {device}, args {vars(args)}", flush=True)

    torch.manual_seed(0)
    data = LoadWindows(args.hours, args.context, args.horizon)
    cut = int(0.85 * len(data))
    train = torch.utils.data.Subset(data, range(cut))
    valid = torch.utils.data.Subset(data, range(cut + args.context, len(data)))
    sampler = DistributedSampler(train)
    train_dl = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    valid_dl = DataLoader(valid, args.batch_size, sampler=DistributedSampler(valid, shuffle=False))

    model = DDP(Forecaster(args.hidden, args.horizon).to(device),
                device_ids=[args.local_rank] if use_cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)

    rows = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        tr = run_epoch(model, train_dl, device, opt)
        va = run_epoch(model, valid_dl, device)
        rows.append([epoch, sched.get_last_lr()[0], tr, va])
        sched.step()
        if rank == 0:
            print(f"epoch {epoch}  train {tr:.4f}  valid {va:.4f}", flush=True)
            with open(args.out / "history.csv", "w", newline="") as f:
                csv.writer(f).writerows([["epoch", "lr", "train", "valid"], *rows])
    if rank == 0:
        torch.save(model.module.state_dict(), args.out / "forecaster.pt")
        print("wrote", os.path.abspath(args.out / "forecaster.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
