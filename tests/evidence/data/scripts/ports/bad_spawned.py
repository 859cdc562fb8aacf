"""Processes that are spawned and look for a free port each."""

import os
import socket

import torch.distributed as dist
import torch.multiprocessing as mp


def find_free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(find_free_port())  # distkb: script.port-of-its-own
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def worker(rank, world_size):
    setup(rank, world_size)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(4,), nprocs=4)
