"""Names of folders that one rank makes up and sends, that only one rank uses, or that are meant to differ."""

import os
import random
import time
import uuid
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def agreed(base):
    box = [f"exp-{uuid.uuid4().hex[:6]}" if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    path = Path(base) / box[0]
    path.mkdir(parents=True, exist_ok=True)
    return path


def scratch(base):
    path = os.path.join(base, f"{uuid.uuid4().hex}-rank{dist.get_rank()}")
    os.makedirs(path, exist_ok=True)
    return path


def daily(base):
    os.makedirs(os.path.join(base, time.strftime("%Y-%m-%d")), exist_ok=True)


def pictures(base):
    if dist.get_rank() == 0:
        os.makedirs(os.path.join(base, str(time.time())))


def seeded(base):
    random.seed(7)
    os.makedirs(os.path.join(base, str(random.randint(0, 999))), exist_ok=True)


def main(net):
    dist.init_process_group("nccl")
    torch.manual_seed(7)
    model = DistributedDataParallel(net)
    for make in (agreed, scratch):
        make("/scratch")
    daily("/scratch")
    pictures("/scratch")
    seeded("/scratch")
    dist.destroy_process_group()
    return model


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2))
