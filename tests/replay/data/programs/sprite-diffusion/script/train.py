# Small pixel diffusion on 12x12 sprites. Two boxes with two workers each: copy of the weights per box, split inside the box.
import csv
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from net import Denoiser

STEPS = int(os.environ.get("STEPS", 240))
BATCH = 32
LR = 2e-3
T = 200
OUT = os.environ.get("OUT", "logs")


def sprites(n, seed):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    c = 3 + 6 * torch.rand(n, 2, 1, 1, generator=g)
    r = 1.5 + 2.5 * torch.rand(n, 1, 1, generator=g)
    square = torch.rand(n, 1, 1, generator=g) < 0.5
    dx, dy = (xx - c[:, 0]).abs(), (yy - c[:, 1]).abs()
    dist_ = torch.where(square, torch.maximum(dx, dy), (dx ** 2 + dy ** 2).sqrt())
    return (torch.sigmoid(3 * (r - dist_)) * 2 - 1).flatten(1)


beta = torch.linspace(1e-4, 0.05, T)
abar = torch.cumprod(1 - beta, 0)


def ddpm_loss(model, x, g):
    t = torch.randint(0, T, (len(x),), generator=g)
    eps = torch.randn(x.shape, generator=g)
    a = abar[t][:, None]
    return ((model(a.sqrt() * x + (1 - a).sqrt() * eps, t) - eps) ** 2).mean()


def shard(model, mesh):
    for b in model.blocks:
        fully_shard(b, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("box", "worker"))

    torch.manual_seed(0)
    model = shard(Denoiser(), mesh["worker"])
    opt = torch.optim.AdamW(model.parameters(), lr=LR)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)

    data = sprites(2048, 1)[rank::world]
    held = sprites(256, 2)
    g = torch.Generator().manual_seed(100 + rank)

    f = open(f"{OUT}/rank{rank}.csv", "w", newline="")
    log = csv.writer(f)
    log.writerow(["step", "loss", "grad_norm", "weight_norm", "lr", "val_loss"])
    for step in range(1, STEPS + 1):
        x = data[torch.randint(0, len(data), (BATCH,), generator=g)]
        loss = ddpm_loss(model, x, g)
        loss.backward()
        gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor().item()
        opt.step()
        opt.zero_grad()
        lr = sched.get_last_lr()[0]
        sched.step()
        if step == 1 or step % 20 == 0:
            with torch.no_grad():
                wn = torch.nn.utils.get_total_norm(list(model.parameters())).full_tensor().item()
                val = ddpm_loss(model, held, torch.Generator().manual_seed(5)).item()
            log.writerow([step, f"{loss.item():.4f}", f"{gn:.5f}", f"{wn:.5f}", f"{lr:.6f}", f"{val:.5f}"])
            f.flush()
            if rank == 0:
                print(f"step {step:4d}/{STEPS} loss {loss.item():.4f} val {val:.4f} lr {lr:.5f}", flush=True)

    # each rank stores its own piece
    torch.save({k: v.to_local() for k, v in model.state_dict().items()}, f"{OUT}/part{rank}.pt")
    dist.barrier()
    if rank == 0:
        print("saved", sorted(p for p in os.listdir(OUT) if p.startswith("part")))
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
