"""One process."""

import os
import random

import torch.distributed as dist


def main(size):
    os.environ["MASTER_PORT"] = str(random.randint(20000, 40000))
    dist.init_process_group("gloo", rank=0, world_size=size)
