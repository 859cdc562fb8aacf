import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard

from net import TuneLM, chunked_xent
from tunes import TuneStream

STEPS = int(os.environ.get("STEPS", 60))
BATCH = 16


def shard(model):
    for b in model.blocks:
        fully_shard(b)
    fully_shard(model.tok)
    fully_shard(model.lm_head)
    return fully_shard(model)


def worker(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    log = open(f"logs/rank{rank}.log", "w", buffering=1)

    torch.manual_seed(0)
    model = shard(TuneLM())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    stream = TuneStream(rank)
    print(f"world {world} | {sum(p.numel() for p in model.parameters()):,} params | "
          f"{BATCH * world} tunes a step", file=log)

    # sanity numbers before training
    with torch.no_grad():
        x, y = stream.batch(BATCH)
        base = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    print(f"untrained loss {base:.3f}", file=log)

    t = time.time()
    for step in range(1, STEPS + 1):
        x, y = stream.batch(BATCH)
        hidden = model(x, logits=False)
        loss = chunked_xent(hidden, model.lm_head.weight, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if step % 10 == 0:
            print(f"step {step:4d} loss {loss.item():.3f} {time.time() - t:.1f}s", file=log)
    dist.destroy_process_group()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    mp.spawn(worker, args=(n, 29671), nprocs=n)
    print("done")
