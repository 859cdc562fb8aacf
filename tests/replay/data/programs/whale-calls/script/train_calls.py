import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from lab.session import Session

log = logging.getLogger("calls")


class CallSpectrograms(Dataset):
    """Synthetic hydrophone clips: up-sweeps, down-sweeps, pulses and plain sea noise."""

    def __init__(self, n, seed, mels=32, frames=64):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 1, mels, frames, generator=g)
        self.y = torch.randint(0, 4, (n,), generator=g)
        for i, kind in enumerate(self.y.tolist()):
            start = int(torch.randint(0, frames - 24, (1,), generator=g))
            low = int(torch.randint(2, mels - 16, (1,), generator=g))
            for t in range(24):
                if kind == 0:
                    self.x[i, 0, low + t // 2, start + t] += 1.3
                elif kind == 1:
                    self.x[i, 0, low + 12 - t // 2, start + t] += 1.3
                elif kind == 2 and t % 4 == 0:
                    self.x[i, 0, low:low + 10, start + t] += 1.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class CallNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        layers, cin = [], 1
        for cout in (12, 24, 32):
            layers += [nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU(), nn.MaxPool2d(2)]
            cin = cout
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(cin * 2, classes)

    def forward(self, x):
        h = self.features(x)
        return self.head(torch.cat([h.mean((2, 3)), h.amax((2, 3))], 1))


def evaluate(model, loader):
    model.eval()
    hits = torch.zeros(2)
    with torch.no_grad():
        for x, y in loader:
            hits[0] += (model(x).argmax(1) == y).sum()
            hits[1] += len(y)
    dist.all_reduce(hits)
    model.train()
    return float(hits[0] / hits[1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=16)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--clips", type=int, default=3072)
    args = ap.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    host = f"sea{int(os.environ['GROUP_RANK'])}"
    logging.basicConfig(
        level=logging.INFO, datefmt="%H:%M:%S",
        format=f"%(asctime)s {host}/{local} r{rank} %(message)s",
    )
    session = Session(host, local)
    log.info("joined, world %d, pid %d", world, os.getpid())

    torch.manual_seed(3)
    train, test = CallSpectrograms(args.clips, 1), CallSpectrograms(512, 2)
    sampler = DistributedSampler(train, seed=3)
    loader = DataLoader(train, args.batch, sampler=sampler, drop_last=True)
    test_loader = DataLoader(test, 64, sampler=DistributedSampler(test, shuffle=False))
    net = CallNet()
    model = DDP(net)
    optim = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        started, total = time.time(), 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
        acc = evaluate(net, test_loader)
        log.info("epoch %2d loss %.4f acc %.3f %.1f s", epoch, total / len(loader), acc, time.time() - started)
        if rank == 0:
            torch.save({"epoch": epoch, "model": net.state_dict()}, "calls.pt")
            session.renew()

    session.close()
    dist.destroy_process_group()
    log.info("finished")


if __name__ == "__main__":
    main()
