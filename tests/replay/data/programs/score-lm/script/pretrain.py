import argparse
import json
import resource
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

from score_lm.events import sample_batch
from score_lm.model import ScoreLM


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=640)
    p.add_argument("--depth", type=int, default=16)
    p.add_argument("--heads", type=int, default=10)
    p.add_argument("--length", type=int, default=32)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--out", default="pretrain.jsonl")
    return p.parse_args()


def rss():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    base_mb = rss()

    model = ScoreLM(dim=args.dim, depth=args.depth, heads=args.heads)
    n_params = sum(p.numel() for p in model.parameters())
    model = FSDP(
        model,
        auto_wrap_policy=size_based_auto_wrap_policy,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        device_id=torch.device("cpu"),
    )
    shard = sum(p.numel() for p in model.parameters())
    if rank == 0:
        print(model)
    print(f"[rank {rank}] {n_params / 1e6:.1f}M parameters, {shard / 1e6:.1f}M here, "
          f"start {base_mb} MB, after wrapping {rss()} MB", flush=True)

    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    gen = torch.Generator().manual_seed(1000 + rank)
    log = open(args.out, "w", buffering=1) if rank == 0 else None
    for step in range(1, args.steps + 1):
        t = time.time()
        x, y = sample_batch(args.batch, args.length, 388, gen)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        model.clip_grad_norm_(1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        print(f"[rank {rank}] step {step} loss {loss.item():.4f} peak {rss()} MB", flush=True)
        if log:
            log.write(json.dumps({"step": step, "loss": loss.item(), "peak_mb": rss(), "s": time.time() - t}) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
