import json
import os
import random
import sys
import time
import tomllib
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from corpus import Pages, hide
from net import ByteBert

CKPT = Path("ckpt")


def save(step, model, opt, rank):
    if rank == 0:
        CKPT.mkdir(exist_ok=True)
        state = {
            "step": step,
            "model": model.module.state_dict(),
            "opt": opt.state_dict(),
            "rng": {"python": random.getstate(), "torch": torch.get_rng_state()},
        }
        torch.save(state, CKPT / "tmp.pt")
        os.replace(CKPT / "tmp.pt", CKPT / "last.pt")
    dist.barrier()


def resume(model, opt):
    path = CKPT / "last.pt"
    if not path.exists():
        return 0
    state = torch.load(path, map_location="cpu", weights_only=False)
    model.module.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    random.setstate(state["rng"]["python"])
    torch.set_rng_state(state["rng"]["torch"])
    return state["step"]


def main():
    until = int(sys.argv[1])
    cfg = tomllib.loads(Path("settings.toml").read_text())
    m, t = cfg["model"], cfg["train"]
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)

    torch.manual_seed(t["seed"])
    model = DistributedDataParallel(ByteBert(**m))
    opt = torch.optim.AdamW(model.parameters(), lr=t["lr"])
    random.seed(t["seed"] + rank)
    torch.manual_seed(t["seed"] + rank)
    pages = Pages(rank, world, m["length"])

    step = resume(model, opt)
    out = open(f"{os.environ['LOGDIR']}/rank{rank}.jsonl", "a")

    def note(**kw):
        out.write(json.dumps({"time": time.strftime("%H:%M:%S"), "rank": rank, **kw}) + "\n")
        out.flush()

    note(event="start", step=step, until=until, world=world, bytes=len(pages.data))
    while step < until:
        x, pos = pages.batch(t["batch"])
        y, chosen, share = hide(x)
        logits = model(y)
        loss = F.cross_entropy(logits[chosen], x[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step % t["log_every"] == 0:
            hit = (logits[chosen].argmax(-1) == x[chosen]).float().mean().item()
            note(step=step, loss=round(loss.item(), 4), acc=round(hit, 3), share=round(share, 4), masked=int(chosen.sum()), first=pos[0])
        if step % t["save_every"] == 0:
            save(step, model, opt, rank)
            note(event="saved", step=step)
    note(event="end", step=step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
