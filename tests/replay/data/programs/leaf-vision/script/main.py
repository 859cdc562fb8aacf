import csv
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from leaves import SPECIES, Leaves


class LeafCNN(nn.Module):
    def __init__(self, n_cls):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(32 * 9, n_cls)

    def forward(self, x):
        return self.fc(self.body(x).flatten(1))


class Trainer:
    def __init__(self, rank, world, out):
        self.rank, self.world, self.out = rank, world, out
        torch.manual_seed(0)
        self.train_set = Leaves(2400, seed=1)
        self.val_set = Leaves(600, seed=2)
        self.train_sampler = DistributedSampler(self.train_set, shuffle=True)
        self.val_sampler = DistributedSampler(self.val_set, shuffle=False)
        self.train_loader = DataLoader(self.train_set, batch_size=20, sampler=self.train_sampler)
        self.val_loader = DataLoader(self.val_set, batch_size=50, sampler=self.val_sampler)
        self.model = DDP(LeafCNN(len(SPECIES)))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=1e-4)
        self.best = 0.0

    def fit(self, epochs):
        for epoch in range(epochs):
            t0 = time.time()
            self.train_sampler.set_epoch(epoch)
            train_loss = self.train_epoch()
            val_loss, val_acc = self.evaluate()
            if self.rank == 0:
                self.report(epoch, train_loss, val_loss, val_acc, time.time() - t0)

    def train_epoch(self):
        self.model.train()
        total = torch.zeros(1)
        for x, y in self.train_loader:
            loss = F.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.detach()
        return total.item() / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss_sum, correct = 0.0, 0
        for x, y in self.val_loader:
            logits = self.model.module(x)
            loss_sum += F.cross_entropy(logits, y).item()
            correct += (logits.argmax(1) == y).sum().item()
        return loss_sum / len(self.val_loader), correct / len(self.val_set)

    def report(self, epoch, train_loss, val_loss, val_acc, secs):
        lr = self.opt.param_groups[0]["lr"]
        with open(os.path.join(self.out, "history.csv"), "a", newline="") as f:
            csv.writer(f).writerow([epoch, f"{lr:g}", f"{train_loss:.4f}", f"{val_loss:.4f}", f"{val_acc:.4f}"])
        note = ""
        if val_acc > self.best:
            self.best = val_acc
            torch.save(self.model.module.state_dict(), os.path.join(self.out, "best.pt"))
            note = "  -> best.pt"
        print(f"[{epoch:02d}] train {train_loss:.4f} | val {val_loss:.4f} acc {100 * val_acc:.2f}% | {secs:.1f}s{note}", flush=True)


def worker(rank, world, out, epochs):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29653")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    t = Trainer(rank, world, out)
    if rank == 0:
        print(f"{world} processes, {len(t.train_set)} train / {len(t.val_set)} val images, "
              f"{len(t.train_loader)} steps per epoch, {len(SPECIES)} species", flush=True)
        with open(os.path.join(out, "history.csv"), "w", newline="") as f:
            csv.writer(f).writerow(["epoch", "lr", "train_loss", "val_loss", "val_acc"])
    t.fit(epochs)
    if rank == 0:
        print(f"best val acc {100 * t.best:.2f}%", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    world = int(os.environ.get("NPROC", "3"))
    out = os.environ.get("OUT", "logs")
    os.makedirs(out, exist_ok=True)
    mp.spawn(worker, args=(world, out, int(os.environ.get("EPOCHS", "8"))), nprocs=world)
