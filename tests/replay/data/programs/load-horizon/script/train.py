import csv
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import checkpointing
from forecaster import Forecaster
from series import LoadSeries


def average_grads(model, mesh):
    group = mesh.get_group("dp")
    for p in model.parameters():
        g = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
        dist.all_reduce(g, group=group)
        g /= mesh["dp"].size()


def grad_norm(model):
    total = 0.0
    for p in model.parameters():
        n = p.grad.norm()
        total += (n.full_tensor() if isinstance(n, DTensor) else n).item() ** 2
    return total ** 0.5


def main():
    with open(sys.argv[1]) as f:
        conf = yaml.safe_load(f)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    names = tuple(conf["mesh"])
    mesh = init_device_mesh("cpu", tuple(conf["mesh"].values()), mesh_dim_names=names)
    dp = mesh.get_local_rank("dp")

    torch.manual_seed(17)
    model = Forecaster(regions=conf["regions"])
    plan = {}
    for i in range(len(model.blocks)):
        plan[f"blocks.{i}.up"] = ColwiseParallel()
        plan[f"blocks.{i}.down"] = RowwiseParallel()
    parallelize_module(model, mesh["tp"], plan)
    optim = torch.optim.Adam(model.parameters(), lr=conf["lr"], foreach=False)

    first = 0
    if conf["resume"]:
        first = checkpointing.load(conf["resume"], model, optim)
    if rank == 0:
        place = "resumed at step %d from %s" % (first, conf["resume"]) if first else "fresh weights"
        print(f"run {conf['run']}  ranks {dist.get_world_size()}  mesh {conf['mesh']}  {place}", flush=True)
    for group in optim.param_groups:
        group["lr"] = conf["lr"]

    train = LoadSeries(conf["regions"], seed=1000 * (dp + 1) + first)
    valid = LoadSeries(conf["regions"], seed=77)
    past_v, region_v, future_v = valid.batch(256)

    os.makedirs("logs", exist_ok=True)
    table = csv.writer(open(f"logs/{conf['run']}_rank{rank}.csv", "w", newline=""))
    table.writerow(["step", "train_mse", "valid_mse", "grad_norm"])

    for step in range(first, conf["steps"]):
        past, region, future = train.batch(conf["batch"])
        loss = F.mse_loss(model(past, region), future)
        optim.zero_grad()
        loss.backward()
        average_grads(model, mesh)
        if step % 20 == 0 or step == conf["steps"] - 1:
            with torch.no_grad():
                vloss = F.mse_loss(model(past_v, region_v), future_v).item()
            norm = grad_norm(model)
            table.writerow([step, f"{loss.item():.5f}", f"{vloss:.5f}", f"{norm:.4f}"])
            if rank == 0:
                print(f"step {step:4d}  train {loss.item():.5f}  valid {vloss:.5f}  lr {conf['lr']}", flush=True)
        optim.step()

    checkpointing.save(conf["ckpt_dir"], conf["steps"], model, optim)
    if rank == 0:
        print(f"saved {conf['ckpt_dir']} at step {conf['steps']}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
