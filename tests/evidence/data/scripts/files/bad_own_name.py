"""Names of folders that every rank makes up."""

import os
import random
import time
import uuid
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Experiment:
    def __init__(self, base):
        self.name = f"exp-{uuid.uuid4().hex[:6]}"
        self.folder = Path(base) / self.name

    def open(self):
        self.folder.mkdir(parents=True, exist_ok=True)  # distkb: script.random-directory-per-rank
        return self.folder


def nickname():
    return random.choice(["amber", "cobalt"]) + str(random.randint(0, 999))


def stamped(base):
    path = os.path.join(base, time.strftime("%Y%m%d-%H%M%S"))
    os.makedirs(path, exist_ok=True)  # distkb: script.own-directory-per-rank
    return path


def main(net):
    dist.init_process_group("nccl")
    torch.manual_seed(dist.get_rank())
    random.seed(dist.get_rank())
    model = DistributedDataParallel(net)
    Experiment("/scratch").open()
    stamped("/scratch")
    os.makedirs(os.path.join("/scratch", nickname()))  # distkb: script.random-directory-per-rank
    dist.destroy_process_group()
    return model


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2))
