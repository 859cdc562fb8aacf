"""Questions behind the group, behind a test, or that need none; timeouts with a unit."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

os.environ["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"] = "1200"
os.environ["MY_TIMEOUT"] = "7200"
os.environ["DIST_TIMEOUT"] = "7200"


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("nccl", timeout=timedelta(seconds=int(os.environ["DIST_TIMEOUT"])))
    print(rank, dist.get_rank())
    dist.destroy_process_group()


def tested():
    rank = dist.get_rank() if dist.is_initialized() else 0
    dist.init_process_group("gloo", rank=rank, timeout=None)


def again():
    print(dist.get_rank())
    dist.destroy_process_group()
    dist.init_process_group("gloo")


def by_helper():
    start()
    print(dist.get_rank())
    dist.init_process_group("gloo")


def start():
    dist.init_process_group("gloo")


def tried():
    try:
        print(dist.get_rank())
    except ValueError:
        print("no group yet")
    dist.init_process_group("gloo")


def sometimes(use):
    torch.manual_seed(0)
    print(dist.get_rank())
    if use:
        dist.init_process_group("gloo")


if __name__ == "__main__":
    main()
