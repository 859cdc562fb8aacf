"""Day-ahead load models for all regions in one job, half of the ranks per region."""
import argparse
import csv
import hashlib
import io
import pathlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from regional import REGIONS, LoadNet, LoadWindows


class RegionTrainer:
    def __init__(self, args, region, ranks, group):
        self.args, self.region, self.group = args, region, group
        self.index = ranks.index(dist.get_rank())
        self.lead = self.index == 0
        train = LoadWindows(region, "train")
        self.sampler = DistributedSampler(train, num_replicas=len(ranks), rank=self.index, seed=args.seed)
        self.loader = DataLoader(train, args.batch_size, sampler=self.sampler, drop_last=True)
        valid = LoadWindows(region, "valid")
        self.valid = DataLoader(torch.utils.data.Subset(valid, range(self.index, len(valid), len(ranks))), 512)

        torch.manual_seed(args.seed + sorted(REGIONS).index(region))
        self.model = DDP(LoadNet())
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        steps = args.epochs * len(self.loader)
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=args.lr, total_steps=steps)
        if self.lead:
            self.file = open(args.out / f"{region}.csv", "w", newline="", buffering=1)
            self.csv = csv.writer(self.file)
            self.csv.writerow(["epoch", "lr", "train_mse", "grad_norm", "valid_mae", "valid_mape"])

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for x, y in self.loader:
            loss = torch.nn.functional.mse_loss(self.model(x).squeeze(1), y)
            self.opt.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            self.sched.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total, group=self.group)
        return (total[0] / total[1]).item(), norm.item()

    @torch.no_grad()
    def validate(self):
        s = torch.zeros(3)
        for x, y in self.valid:
            err = (self.model.module(x).squeeze(1) - y).abs()
            s += torch.stack([err.sum(), (err / y.abs()).sum(), torch.tensor(float(len(y)))])
        dist.all_reduce(s, group=self.group)
        return (s[0] / s[2]).item(), (s[1] / s[2]).item()

    def fit(self):
        for epoch in range(self.args.epochs):
            mse, norm = self.train_epoch(epoch)
            mae, mape = self.validate()
            if self.lead:
                lr = self.sched.get_last_lr()[0]
                self.csv.writerow([epoch, f"{lr:.2e}", f"{mse:.4f}", f"{norm:.5f}", f"{mae:.4f}", f"{mape:.4f}"])
                print(f"{self.region}: epoch {epoch} mse {mse:.4f} mae {mae:.3f} GW mape {100 * mape:.1f}%", flush=True)
        if self.lead:
            buf = io.BytesIO()
            torch.save(self.model.module.state_dict(), buf)
            (self.args.out / f"{self.region}.pt").write_bytes(buf.getvalue())
            sha = hashlib.sha1(b"".join(p.numpy().tobytes() for p in self.model.module.state_dict().values()))
            print(f"{self.region}: wrote {self.region}.pt, {buf.tell()} bytes, weights sha1 {sha.hexdigest()[:12]}", flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--seed", type=int, default=40)
    ap.add_argument("--out", type=pathlib.Path, default="logs")
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    names = sorted(REGIONS)
    per = world // len(names)
    members = {n: list(range(i * per, (i + 1) * per)) for i, n in enumerate(names)}
    groups = {n: dist.new_group(members[n]) for n in names}
    region = names[rank // per]
    if rank == 0:
        print(f"{world} ranks: " + ", ".join(f"{n} on {m}" for n, m in members.items()), flush=True)

    trainer = RegionTrainer(args, region, members[region], groups[region])
    trainer.fit()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
