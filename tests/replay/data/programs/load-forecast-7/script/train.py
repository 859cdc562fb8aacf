import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from ema import EMA
from model import Forecaster
from series import make_series, windows


@torch.no_grad()
def evaluate(model, x, y, world):
    model.eval()
    s = torch.stack([F.mse_loss(model(x), y), F.l1_loss(model(x), y)])
    dist.all_reduce(s)
    model.train()
    return (s / world).tolist()


def main():
    cfg = yaml.safe_load(open(sys.argv[1]))
    d, m, t = cfg["data"], cfg["model"], cfg["train"]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))

    series = make_series(d["meters"], d["hours"])
    split = int(0.8 * d["hours"])
    train, valid = series[:, :split], series[:, split:]
    g = torch.Generator().manual_seed(t["seed"] + 100 * rank)
    vx, vy = windows(valid, d["context"], d["horizon"], 256, g)

    torch.manual_seed(t["seed"])
    model = Forecaster(d["context"], d["horizon"], **m)
    n_params = sum(p.numel() for p in model.parameters())
    ema = EMA(model, t["ema_decay"])

    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    local = sum(p.to_local().numel() for p in model.parameters())

    opt = torch.optim.AdamW(model.parameters(), lr=t["lr"], weight_decay=0.01)
    steps = t["windows_per_epoch"] // (t["batch_size"] * world)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, t["epochs"] * steps)
    if rank == 0:
        print(f"{world} ranks, {n_params} parameters, {local} on rank 0, {steps} steps per epoch", flush=True)

    best = float("inf")
    for epoch in range(t["epochs"]):
        start, total = time.time(), 0.0
        for _ in range(steps):
            x, y = windows(train, d["context"], d["horizon"], t["batch_size"], g)
            loss = F.mse_loss(model(x), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            sched.step()
            ema.update()
            total += loss.item()
        mse, mae = evaluate(model, vx, vy, world)
        ema_mse, ema_mae = evaluate(ema.model, vx, vy, world)
        if rank == 0:
            print(
                f"epoch {epoch} | train {total / steps:.4f} | val mse {mse:.4f} mae {mae:.4f}"
                f" | ema mse {ema_mse:.4f} mae {ema_mae:.4f} | {time.time() - start:.1f}s",
                flush=True,
            )
            if ema_mse < best:
                best = ema_mse
                torch.save(ema.model.state_dict(), "forecaster_ema.pt")
                print(f"  saved forecaster_ema.pt ({os.path.getsize('forecaster_ema.pt') // 1024} KiB)", flush=True)
    if rank == 0:
        print(f"best {best:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
