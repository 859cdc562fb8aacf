"""The launcher is asked first, in each of these ways."""

import os

import torch.distributed as dist


def setup():
    if "RANK" in os.environ:
        rank = int(os.environ["RANK"])
    elif "SLURM_PROCID" in os.environ:
        rank = int(os.environ["SLURM_PROCID"])
    else:
        rank = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
    for name in ("RANK", "SLURM_PROCID"):
        print(name, os.getenv(name), os.getenv("RANK") or os.getenv("SLURM_PROCID"))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    dist.destroy_process_group()
