"""The parent picks the port, sets it or hands it on."""

import os
import socket

import torch.distributed as dist
import torch.multiprocessing as mp


def find_free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, world_size, port):
    os.environ.setdefault("MASTER_PORT", str(find_free_port()))
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    again(rank, world_size, port)


def again(rank, world_size, port):
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world_size)


def main():
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(find_free_port())
    mp.spawn(worker, args=(4, find_free_port()), nprocs=4)
