import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from model import Denoiser
from trainer import DiffusionTrainer


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--nproc", type=int, default=2)
    p.add_argument("--port", default="29741")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--T", type=int, default=200)
    p.add_argument("--samples", type=int, default=4096)
    p.add_argument("--log-every", type=int, default=8)
    p.add_argument("--log", default="logs/metrics.jsonl")
    return p.parse_args()


def latents(n, seed):
    """Stand-in for the encoder's output: latents on a 6-dimensional manifold."""
    basis = torch.randn(6, 64, generator=torch.Generator().manual_seed(0))
    z = torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))
    return torch.tanh(z @ basis / 2)


def worker(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=args.port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.nproc)
    torch.manual_seed(0)
    model = Denoiser()
    if rank == 0:
        print(f"denoiser: {sum(p.numel() for p in model.parameters()) / 1e3:.0f}k parameters, "
              f"{args.nproc} ranks", flush=True)
    train = latents(args.samples, 1)[rank::args.nproc]
    val = latents(512, 2)[rank::args.nproc]
    DiffusionTrainer(model, args, rank, args.nproc).fit(train, val)
    dist.destroy_process_group()


if __name__ == "__main__":
    args = parse()
    mp.spawn(worker, args=(args,), nprocs=args.nproc)
