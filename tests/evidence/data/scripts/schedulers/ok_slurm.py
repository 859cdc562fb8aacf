"""Slurm starts the ranks, and its number is handed on under the usual name."""

import os

import torch.distributed as dist


def setup():
    if "SLURM_PROCID" in os.environ:
        os.environ["RANK"] = os.environ["SLURM_PROCID"]
        os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]
    if "SLURM_JOB_ID" in os.environ:
        print(os.environ["SLURM_JOB_ID"])
    else:
        print(os.environ["RANK"])
    dist.init_process_group("gloo")
    dist.destroy_process_group()
