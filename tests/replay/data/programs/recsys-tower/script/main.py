import csv
import pathlib
import resource
import sys
import time

import torch
import torch.distributed as dist
import yaml

from recsys.data import sessions
from recsys.model import UserTower
from recsys.wrap import sync, wrap


def main(conf):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(conf["run"]["seed"])
    d, m = conf["data"], conf["model"]
    model = UserTower(d["items"], d["history"], m["dim"], m["blocks"], m["mlp"])
    n_params = sum(p.numel() for p in model.parameters())
    model = wrap(model, conf["parallel"])
    opt = torch.optim.AdamW(model.parameters(), lr=float(conf["optim"]["lr"]),
                            weight_decay=conf["optim"]["weight_decay"], fused=True)
    batches = sessions(d["items"], d["history"], d["micro_batch"], seed=100 + rank)
    per_step = d["micro_batch"] * d["accumulate"] * world
    if rank == 0:
        print(f"{conf['run']['name']}: {conf['parallel']} world={world} parameters={n_params / 1e6:.1f}M "
              f"({n_params * 16 / 2**20:.0f} MiB with gradients and Adam) users per step={per_step}", flush=True)
        out = pathlib.Path("logs") / f"steps_np{world}.csv"
        out.parent.mkdir(exist_ok=True)
        table = csv.writer(out.open("w"))
        table.writerow(["step", "loss", "fwd_s", "bwd_s", "opt_s", "step_s", "users_per_s", "rss_mib"])
    for step in range(conf["run"]["steps"]):
        t = {"fwd": 0.0, "bwd": 0.0}
        t0 = time.perf_counter()
        total = 0.0
        for k in range(d["accumulate"]):
            hist, nxt = next(batches)
            with sync(model, k == d["accumulate"] - 1):
                a = time.perf_counter()
                loss = torch.nn.functional.cross_entropy(model(hist), nxt) / d["accumulate"]
                b = time.perf_counter()
                loss.backward()
                c = time.perf_counter()
            t["fwd"] += b - a
            t["bwd"] += c - b
            total += loss.item()
        a = time.perf_counter()
        opt.step()
        opt.zero_grad()
        t1 = time.perf_counter()
        if rank == 0:
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            row = [step, f"{total:.4f}", f"{t['fwd']:.3f}", f"{t['bwd']:.3f}", f"{t1 - a:.3f}", f"{t1 - t0:.3f}",
                   f"{per_step / (t1 - t0):.1f}", rss]
            table.writerow(row)
            if step % conf["run"]["log_every"] == 0:
                print(f"step {step:3d} loss {row[1]} step {row[5]} s users/s {row[6]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(yaml.safe_load(open(sys.argv[1] if len(sys.argv) > 1 else "conf.yaml")))
