"""One rank clears and tracks, or each rank has a place of its own."""

import shutil
import tempfile

import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


def clear(out_dir):
    shutil.rmtree(out_dir)


def scratch(rank):
    shutil.rmtree(f"/local/scratch-{rank}")


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        clear("runs/base")
        wandb.init(project="captions")
    dist.barrier()
    scratch(rank)
    wandb.init(project="captions", group="run-1")
    place = tempfile.mkdtemp()
    model = DistributedDataParallel(build())
    shutil.rmtree(place)
    shutil.rmtree("cache", ignore_errors=True)
    return model


main()
