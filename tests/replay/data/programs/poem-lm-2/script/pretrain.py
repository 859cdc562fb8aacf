import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.utils.data import DataLoader

from poemlm.corpus import PoemDataset
from poemlm.model import build_part


def lm_loss(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def main(cfg_path):
    cfg = json.load(open(cfg_path))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    first, last = rank == 0, rank == world - 1
    torch.manual_seed(100 + rank)

    data = PoemDataset(cfg["poems"], cfg["ctx"])
    # the same order everywhere: the first stage takes the ids, the last one the targets
    loader = DataLoader(data, batch_size=cfg["batch_size"], shuffle=True, generator=torch.Generator().manual_seed(1))

    part = build_part(rank, world, len(data.chars), cfg)
    stage = PipelineStage(part, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=cfg["microbatches"], loss_fn=lm_loss)
    opt = torch.optim.AdamW(part.parameters(), lr=cfg["lr"])
    n_par = sum(p.numel() for p in part.parameters())
    print(f"stage {rank}/{world} {type(part).__name__} {n_par} params, {len(data)} poems, {len(loader)} steps per epoch", flush=True)

    step = 0
    for epoch in range(cfg["epochs"]):
        t0 = time.time()
        for ids, target in loader:
            losses = []
            opt.zero_grad()
            if first:
                schedule.step(ids)
            elif last:
                schedule.step(target=target, losses=losses)
            else:
                schedule.step()
            opt.step()
            step += 1
            if last and step % cfg["log_every"] == 0:
                print(f"epoch {epoch} step {step} loss {torch.stack(losses).mean().item():.4f}", flush=True)
        dist.barrier()
        if first:
            print(f"epoch {epoch} finished in {time.time() - t0:.1f} s", flush=True)
        os.makedirs("ckpt", exist_ok=True)
        torch.save(part.state_dict(), f"ckpt/part{rank}_e{epoch}.pt")

    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.json")
