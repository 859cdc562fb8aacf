"""Full finetuning of StoryLM; optimizer state is kept on the host."""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from hostopt import HostAdamW
from model import StoryLM


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def say(msg):
    print(f"{time.strftime('%H:%M:%S')} r{dist.get_rank()} rss={rss_mb()}MB | {msg}", flush=True)


def build(args, device):
    model = StoryLM()
    base = torch.load(args.base, map_location="cpu", weights_only=True, mmap=True)
    model.load_state_dict(base["model"])
    n = sum(p.numel() for p in model.parameters())
    say(f"loaded {args.base} (step {base['step']}), {n / 1e6:.1f}M parameters")
    return DistributedDataParallel(model.to(device), gradient_as_bucket_view=True)


def batches(args, rank, device):
    g = torch.Generator().manual_seed(77 + rank)
    while True:
        start = torch.randint(0, 6000, (args.batch, 1), generator=g)
        stride = torch.randint(1, 4, (args.batch, 1), generator=g)
        ids = (start + stride * torch.arange(args.ctx + 1)) % 6000
        yield ids[:, :-1].to(device), ids[:, 1:].to(device)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", default="base.pt")
    p.add_argument("--steps", type=int, default=6)
    p.add_argument("--batch", type=int, default=2)
    p.add_argument("--ctx", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-4)
    args = p.parse_args()

    torch.set_num_threads(1)
    device = "cpu"
    if torch.cuda.is_available():
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    dist.init_process_group()
    say(f"started on {device}, world size {dist.get_world_size()}")

    model = build(args, device)
    opt = HostAdamW(model.parameters(), lr=args.lr)
    say(f"optimizer ready, {opt.size_mb():.0f}MB of state on the host")
    data = batches(args, dist.get_rank(), device)
    for step in range(1, args.steps + 1):
        t0 = time.time()
        x, y = next(data)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            say(f"step {step}/{args.steps} loss {mean.item() / dist.get_world_size():.4f} {time.time() - t0:.2f}s")
    say("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
