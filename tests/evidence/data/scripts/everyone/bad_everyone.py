"""Every rank does what one of them should."""

import os
import shutil

import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


def prepare(out_dir):
    if os.path.exists(out_dir):
        shutil.rmtree(out_dir)  # distkb: script.cleared-by-every-rank
    os.makedirs(out_dir, exist_ok=True)


def main():
    dist.init_process_group("nccl")
    prepare("runs/base")
    wandb.init(project="captions")  # distkb: script.tracker-on-every-rank
    model = DistributedDataParallel(build())
    for batch in load():
        wandb.log({"loss": model(batch).item()})


main()
