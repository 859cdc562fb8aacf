import argparse
import json
import logging
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel as DDP

from diffusion import Schedule, two_moons
from ema import EMA
from nets import Denoiser

log = logging.getLogger("train")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.json")
    args = ap.parse_args()
    cfg = json.load(open(args.config))

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"%(asctime)s [r{rank}] %(name)s: %(message)s")
    torch.set_num_threads(1)

    # "fold": independent ensemble members, "dp": data parallel inside each member
    mesh = init_device_mesh("cpu", (world // cfg["replicas"], cfg["replicas"]),
                            mesh_dim_names=("fold", "dp"))
    fold, dp_rank = mesh["fold"].get_local_rank(), mesh["dp"].get_local_rank()
    torch.manual_seed(100 + fold)
    net = Denoiser(cfg["hidden"], cfg["depth"])
    model = DDP(net, process_group=mesh.get_group("dp"))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    ema = EMA(cfg["ema_decay"], cfg["ema_start"])
    sched = Schedule(cfg["timesteps"])
    gen = torch.Generator().manual_seed(7 + rank)
    torch.manual_seed(1000 + rank)
    log.info("world %d, folds %d, params %.1fk", world, mesh["fold"].size(),
             sum(p.numel() for p in net.parameters()) / 1e3)

    os.makedirs(cfg["out"], exist_ok=True)
    running = 0.0
    for step in range(1, cfg["steps"] + 1):
        x0 = two_moons(cfg["batch"], gen)
        t = torch.randint(0, cfg["timesteps"], (cfg["batch"],))
        xt, eps = sched.noise(x0, t)
        loss = torch.nn.functional.mse_loss(model(xt, t), eps)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        ema.step(model, step)
        running += loss.item()
        if step % cfg["log_every"] == 0:
            log.info("step %4d  loss %.4f", step, running / cfg["log_every"])
            running = 0.0
        if step % cfg["sample_every"] == 0 and dp_rank == 0:
            xs = sched.sample(ema.shadow, 256)
            log.info("samples: mean %s std %s", [round(v, 3) for v in xs.mean(0).tolist()],
                     [round(v, 3) for v in xs.std(0).tolist()])
            torch.save({"ema": ema.shadow.state_dict(), "step": step},
                       f"{cfg['out']}/fold{fold}_{step:05d}.pt")
    dist.barrier()
    log.info("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
