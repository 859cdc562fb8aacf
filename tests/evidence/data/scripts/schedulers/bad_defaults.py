"""The launcher's variable is only what is left."""

import os

import torch.distributed as dist


class Config:
    def __init__(self):
        self.rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0")))  # distkb: script.scheduler-before-launcher


def number():
    return int(os.getenv("SLURM_PROCID") or os.getenv("RANK") or 0)  # distkb: script.scheduler-before-launcher


def first_of():
    for name in ("SLURM_PROCID", "RANK"):  # distkb: script.scheduler-before-launcher
        if name in os.environ:
            return int(os.environ[name])
    return 0


def main():
    dist.init_process_group("gloo")
    dist.destroy_process_group()
