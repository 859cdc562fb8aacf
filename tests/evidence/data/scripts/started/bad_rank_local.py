import os

import torch.distributed as dist


def setup():
    local = int(os.environ["SLURM_LOCALID"])
    os.environ.setdefault("RANK", str(local))  # distkb: script.rank-from-local
    os.environ.setdefault("WORLD_SIZE", os.environ["SLURM_NTASKS"])
    dist.init_process_group("nccl")
    dist.destroy_process_group()
