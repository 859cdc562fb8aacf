"""Slurm is asked first."""

import os

import torch.distributed as dist


def setup():
    if "SLURM_PROCID" in os.environ:  # distkb: script.scheduler-before-launcher
        rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    elif "RANK" in os.environ:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    else:
        rank, world = 0, 1
    dist.init_process_group("gloo", rank=rank, world_size=world)
    dist.destroy_process_group()
