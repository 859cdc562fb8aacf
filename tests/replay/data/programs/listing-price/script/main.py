import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from listings import Listings, collate
from price_model import PriceModel


def worker(rank, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.procs)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    data = Listings(args.rows)
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)
    model = DDP(PriceModel())
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    huber = torch.nn.SmoothL1Loss()
    if rank == 0:
        print(f"{len(data)} listings, {len(loader)} batches of {args.batch_size} on each of {args.procs} processes")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for k, (title, numbers, photos, rows, price) in enumerate(loader):
            loss = huber(model(title, numbers, photos, rows), price)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += torch.tensor([loss.item(), 1.0])
            if rank == 0 and k % args.log_every == 0:
                print(f"epoch {epoch} batch {k:3d} loss {loss.item():.4f}", flush=True)
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} mean loss {total[0] / total[1]:.4f}", flush=True)
            torch.save(model.module.state_dict(), "price.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--procs", type=int, default=3)
    p.add_argument("--rows", type=int, default=1200)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--port", type=int, default=29811)
    args = p.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.procs)
