import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from recsys.data import SessionDataset
from recsys.model import SessionNet
from recsys.monitor import usage


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sessions", type=int, default=160_000)
    p.add_argument("--items", type=int, default=20_000)
    p.add_argument("--max-len", type=int, default=12)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--workers", type=int, default=3)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--log-dir", default="logs")
    args = p.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(17)

    t0 = time.time()
    data = SessionDataset(args.sessions, args.items, args.max_len)
    print(f"[{rank}] {len(data)} sessions in {time.time() - t0:.1f}s", flush=True)
    sampler = DistributedSampler(data, world, rank, shuffle=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, num_workers=args.workers,
                        persistent_workers=True, drop_last=True)

    model = DDP(SessionNet(args.items))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    log = open(os.path.join(args.log_dir, f"metrics_rank{rank}.jsonl"), "w", buffering=1)

    step, t0 = 0, time.time()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for items, dwell, country, y in loader:
            loss = F.binary_cross_entropy_with_logits(model(items, dwell, country), y.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 25 == 0:
                log.write(json.dumps({"t": round(time.time() - t0, 1), "epoch": epoch, "step": step,
                                      "loss": round(loss.item(), 4), "mem_mb": usage()}) + "\n")
            step += 1
        if rank == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f} ({time.time() - t0:.0f}s)", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), os.path.join(args.log_dir, "session_net.pt"))
        print("saved session_net.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
