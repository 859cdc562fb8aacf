"""The number of a task among all of them is taken for the GPU."""

import os, torch
import torch.distributed as dist


def setup():
    rank = int(os.environ["SLURM_PROCID"])
    world = int(os.environ["SLURM_NTASKS"])
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(f"cuda:{rank}")  # distkb: script.device-from-global-rank
    return rank, world


if __name__ == "__main__":
    rank, world = setup()
    from train import train
    train(rank)
dist.destroy_process_group()
