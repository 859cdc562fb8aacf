import csv
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from common import Saver, TwoTower

USERS, ITEMS, DIM = 150_000, 100_000, 64
STEPS, SAVE_EVERY, BATCH = 30, 15, 512


def clicks(gen, n):
    u = torch.randint(0, USERS, (n,), generator=gen)
    i = torch.randint(0, ITEMS, (n,), generator=gen)
    return u, i, ((u % 17 + i % 13) % 5 == 0).float()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    os.makedirs("ckpt", exist_ok=True)
    model = DDP(TwoTower(USERS, ITEMS, DIM))
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    saver = Saver()
    gen = torch.Generator().manual_seed(50 + rank)
    table = csv.writer(open("logs/train.csv", "w")) if rank == 0 else None
    if table:
        table.writerow(["step", "bce", "seconds"])
        print(f"{world} ranks, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters")

    t0 = time.time()
    for step in range(1, STEPS + 1):
        u, i, y = clicks(gen, BATCH)
        loss = F.binary_cross_entropy_with_logits(model(u, i), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if table and step % 5 == 0:
            table.writerow([step, f"{loss.item():.4f}", f"{time.time() - t0:.1f}"])
        if step % SAVE_EVERY == 0:
            if rank == 0:
                path = f"ckpt/step{step:04d}.pt"
                saver.save({"step": step, "model": model.module.state_dict(), "opt": opt.state_dict()}, path)
                print(f"step {step}: loss {loss.item():.4f}, checkpoint {path}")
            dist.barrier()
    if rank == 0:
        print(f"training finished after {time.time() - t0:.0f} s")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
