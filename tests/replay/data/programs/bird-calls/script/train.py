import argparse
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from birdcalls.audio import SPECIES, Recordings, catalogue
from birdcalls.monitor import host_mb, make_logger
from birdcalls.net import CallNet


def evaluate(model, loader):
    model.eval()
    hit = torch.zeros(2)
    with torch.no_grad():
        for x, y in loader:
            hit += torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)])
    dist.all_reduce(hit)
    model.train()
    return (hit[0] / hit[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clips", type=int, default=1200)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch", type=int, default=12)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    log = make_logger(rank)
    torch.manual_seed(rank)
    train = Recordings(catalogue(args.clips, seed=1))
    valid = Recordings(catalogue(120, seed=2), train=False)
    sampler = DistributedSampler(train, shuffle=True, seed=4)
    loader = DataLoader(train, args.batch, sampler=sampler, drop_last=True)
    vloader = DataLoader(valid, args.batch, sampler=DistributedSampler(valid, shuffle=False))
    model = DDP(CallNet(len(SPECIES)))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    log.info("%d clips, %d steps per epoch, rss %d MB", len(train), len(loader), host_mb())

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0 = time.time()
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 10 == 0:
                log.info("epoch %d step %3d loss %.3f  %.1f clips/s  rss %d MB", epoch, step, loss.item(),
                         (step + 1) * args.batch / (time.time() - t0), host_mb())
        acc = evaluate(model, vloader)
        if rank == 0:
            log.info("epoch %d valid accuracy %.3f", epoch, acc)
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, "birdcalls.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
