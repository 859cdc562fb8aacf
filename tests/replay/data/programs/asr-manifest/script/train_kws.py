import argparse
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from features import N_BANDS, WORDS, ManifestDataset, write_manifest


class KWS(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(N_BANDS, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, len(WORDS))

    def forward(self, x):
        return self.fc(self.gru(x)[0].mean(1))


class Log:
    """One text file per rank."""

    def __init__(self, folder, rank):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.fh = open(Path(folder) / f"rank{rank}.txt", "w")

    def __call__(self, msg):
        self.fh.write(f"{time.strftime('%H:%M:%S')} {msg}\n")
        self.fh.flush()


def get_manifest(path, n_clips, seed, rank, log):
    if rank == 0 and not os.path.exists(path):
        t0 = time.time()
        write_manifest(path, n_clips, seed)
        log(f"features extracted in {time.time() - t0:.1f} s -> {path}")
    while not os.path.exists(path):
        time.sleep(1.0)
    return ManifestDataset(path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", default="work")
    ap.add_argument("--log-dir", default="logs")
    ap.add_argument("--clips", type=int, default=2400)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch", type=int, default=32)
    args = ap.parse_args()

    dist.init_process_group("gloo", init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()
    log = Log(args.log_dir, rank)
    torch.manual_seed(7)
    log(f"rank {rank} of {world}, args {vars(args)}")

    train = get_manifest(os.path.join(args.work, "train.jsonl"), args.clips, 1, rank, log)
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    loader = DataLoader(train, batch_size=args.batch, sampler=sampler, drop_last=True)
    log(f"train: {len(train)} clips, {len(loader)} batches per epoch")

    model = DDP(KWS())
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        hits = torch.zeros(len(WORDS))
        seen = torch.zeros(len(WORDS))
        for i, (x, y) in enumerate(loader):
            out = model(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ok = out.argmax(1) == y
            hits += torch.bincount(y[ok], minlength=len(WORDS))
            seen += torch.bincount(y, minlength=len(WORDS))
            if i % 10 == 0:
                log(f"epoch {epoch} batch {i}/{len(loader)} loss {loss.item():.3f}")
        dist.all_reduce(hits)
        dist.all_reduce(seen)
        log(f"epoch {epoch} train accuracy {(hits.sum() / seen.sum()).item():.3f}")
        if rank == 0:
            torch.save(model.module.state_dict(), os.path.join(args.work, "kws.pt"))
    log("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
