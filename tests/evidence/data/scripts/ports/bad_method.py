"""An address whose port hangs on the process that makes it."""

import os
from multiprocessing import Process

import torch.distributed as dist


def run(rank, size):
    port = 20000 + os.getpid() % 10000
    method = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)  # distkb: script.port-of-its-own


def main(size=2):
    processes = [Process(target=run, args=(rank, size)) for rank in range(size)]
    for process in processes:
        process.start()
