"""A launcher's port that every rank replaces by one that it draws."""

import os
import random

import torch.distributed as dist


def main():
    os.environ["MASTER_PORT"] = str(random.randint(20000, 40000))  # distkb: script.port-of-its-own
    dist.init_process_group("nccl")
    print(os.environ["LOCAL_RANK"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
