import argparse
import time

import deepspeed
import torch
import torch.nn.functional as F

from data import ClickStream
from model import Ranker

CARD = [900_000, 450_000, 120_000, 30_000]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=48)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--steps", type=int, default=15)
    p.add_argument("--local_rank", type=int, default=-1)
    p = deepspeed.add_config_arguments(p)
    return p.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    rank = torch.distributed.get_rank()

    torch.manual_seed(0)
    model = Ranker(CARD, args.dim, args.hidden)
    n = sum(p.numel() for p in model.parameters())
    if rank == 0:
        print(f"ranker: {n / 1e6:.1f}M parameters, {len(CARD)} tables, dim {args.dim}", flush=True)

    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    del model
    if rank == 0:
        print(f"engine ready, micro batch {engine.train_micro_batch_size_per_gpu()}", flush=True)

    stream = ClickStream(CARD, engine.train_micro_batch_size_per_gpu(), args.steps, seed=100 + rank)
    t0 = time.time()
    for step, (ids, y) in enumerate(stream):
        logit = engine(ids)
        loss = F.binary_cross_entropy_with_logits(logit.float(), y)
        engine.backward(loss)
        engine.step()
        if rank == 0:
            print(f"step {step:3d} bce {loss.item():.4f} {time.time() - t0:.1f}s", flush=True)
    if rank == 0:
        print("finished", flush=True)


if __name__ == "__main__":
    main()
