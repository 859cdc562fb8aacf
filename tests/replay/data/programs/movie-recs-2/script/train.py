import argparse
import os
import socket
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from recs.data import Ratings
from recs.model import TwoEmbeddings

USERS, ITEMS = 400, 300


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-2)
    args = p.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank}/{world} local {os.environ['LOCAL_RANK']} node {os.environ['GROUP_RANK']} "
          f"on {socket.gethostname()}", flush=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)

    ds = Ratings(16000, USERS, ITEMS, seed=2)
    sampler = DistributedSampler(ds, shuffle=True)
    loader = DataLoader(ds, batch_size=args.batch, sampler=sampler)
    model = DDP(TwoEmbeddings(USERS, ITEMS))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    lossf = torch.nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0, total = time.time(), torch.zeros(2)
        for u, v, y in loader:
            out = model(u, v)
            loss = lossf(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += torch.tensor([loss.item() * len(y), float(len(y))])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f} {time.time() - t0:.1f}s", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), "recs.pt")
        print("saved recs.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
