import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from speech import WORDS, Spotter, make_split

FRAMES, MELS = 40, 24
TRAIN, DEV = 1920, 769
EPOCHS, BATCH, LR = 5, 32, 2e-3


class Log:
    def __init__(self, rank):
        self.rank = rank
        self.f = open(os.path.join(os.environ.get("LOGS", "logs"), f"worker{rank}.log"), "w", buffering=1)

    def __call__(self, msg):
        line = f"{time.strftime('%H:%M:%S')} {msg}"
        self.f.write(line + "\n")
        if self.rank == 0:
            print(line, flush=True)


@torch.no_grad()
def evaluate(net, loader, log):
    net.eval()
    confusion = torch.zeros(len(WORDS), len(WORDS), dtype=torch.long)
    loss_sum = torch.zeros(())
    for i, (x, y) in enumerate(loader):
        logits = net(x)
        batch = torch.zeros_like(confusion)
        batch.index_put_((y, logits.argmax(1)), torch.ones_like(y), accumulate=True)
        dist.all_reduce(batch)
        confusion += batch
        loss_sum += F.cross_entropy(logits, y, reduction="sum")
        if i % 4 == 0:
            log(f"  dev batch {i + 1}/{len(loader)} seen {int(confusion.sum())}")
    net.train()
    acc = confusion.diag().sum().item() / confusion.sum().item()
    return loss_sum.item(), acc, confusion


def worker(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29621")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    log = Log(rank)
    torch.manual_seed(3)

    train = make_split(TRAIN, FRAMES, MELS, seed=1)
    dev = make_split(DEV, FRAMES, MELS, seed=2)
    sampler = DistributedSampler(train, world, rank, seed=3)
    train_loader = DataLoader(train, BATCH, sampler=sampler)
    mine = Subset(dev, range(rank, len(dev), world))
    dev_loader = DataLoader(mine, BATCH)
    log(f"train {len(train)} utterances, {len(train_loader)} batches; dev {len(mine)} of {len(dev)}, {len(dev_loader)} batches")

    net = DistributedDataParallel(Spotter(MELS))
    opt = torch.optim.AdamW(net.parameters(), lr=LR)
    best = 0.0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(train_loader):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i % 5 == 0:
                log(f"epoch {epoch} batch {i} loss {loss.item():.3f}")
        dev_loss, acc, confusion = evaluate(net.module, dev_loader, log)
        log(f"epoch {epoch} dev loss {dev_loss / len(mine):.3f} acc {acc:.4f} over {int(confusion.sum())}")
        if rank == 0 and acc > best:
            best = acc
            torch.save(net.module.state_dict(), os.path.join(os.environ.get("LOGS", "logs"), "spotter_best.pt"))
            log(f"saved spotter_best.pt ({acc:.4f})")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    mp.spawn(worker, args=(n,), nprocs=n)
