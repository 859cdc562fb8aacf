"""A port for a run without a launcher, one that rank 0 hands on, and one that hangs on the job."""

import os
import random
import time
from pathlib import Path

import torch.distributed as dist


def from_file(rank, path):
    if rank == 0:
        port = random.randint(20000, 40000)
        Path(path).write_text(str(port))
    else:
        time.sleep(5)
        port = int(Path(path).read_text())
    os.environ["MASTER_PORT"] = str(port)


def main(rank, path):
    if "RANK" not in os.environ:
        os.environ["MASTER_PORT"] = str(random.randint(20000, 40000))
    os.environ.setdefault("MASTER_PORT", str(os.getpid() + 10000))
    if "SLURM_JOB_ID" in os.environ:
        os.environ["MASTER_PORT"] = str(20000 + int(os.environ["SLURM_JOB_ID"]) % 10000)
    from_file(rank, path)
    dist.init_process_group("nccl")
