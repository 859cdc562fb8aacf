import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import TwoTower

VOCAB, LEN = 800, 12


class Pairs:
    """Synthetic captions: an image is a colour pattern, its caption the words of that pattern."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        base = torch.Generator().manual_seed(0)
        self.patterns = torch.randn(64, 3, 16, 16, generator=base)
        self.words = torch.randint(0, VOCAB, (64, LEN), generator=base)

    def batch(self, n):
        k = torch.randint(0, 64, (n,), generator=self.gen)
        img = self.patterns[k] + 0.5 * torch.randn(n, 3, 16, 16, generator=self.gen)
        ids = self.words[k].clone()
        drop = torch.rand(n, LEN, generator=self.gen) < 0.2
        ids[drop] = torch.randint(0, VOCAB, (int(drop.sum()),), generator=self.gen)
        return img, ids


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--report-every", type=int, default=20)
    p.add_argument("--compile", default="aot_eager", help="backend for torch.compile, 'off' to disable")
    return p.parse_args()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    torch.set_num_threads(1)

    net = TwoTower(VOCAB)
    ddp = DDP(net, bucket_cap_mb=1, find_unused_parameters=True)
    step_fn = ddp
    if args.compile != "off":
        torch._dynamo.config.optimize_ddp = False
        step_fn = torch.compile(ddp, backend=args.compile)
    opt = torch.optim.AdamW(ddp.parameters(), lr=args.lr, weight_decay=0.05)
    data = Pairs(seed=50 + rank)
    if rank == 0:
        n = sum(p.numel() for p in net.parameters())
        print(f"world={world} params={n / 1e6:.2f}M global_batch={world * args.batch} compile={args.compile}", flush=True)

    t0 = time.time()
    for step in range(1, args.steps + 1):
        images, ids = data.batch(args.batch)
        net.report = rank == 0 and step % args.report_every == 0
        loss = step_fn(images, ids)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(f"[rank {rank}] step {step:3d} loss {loss.item():.4f} "
                  f"scale {net.log_scale.exp().item():.2f} {time.time() - t0:.1f}s", flush=True)

    if rank == 0:
        os.makedirs("ckpt", exist_ok=True)
        torch.save(net.state_dict(), "ckpt/last.pt")
        print("saved ckpt/last.pt", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
