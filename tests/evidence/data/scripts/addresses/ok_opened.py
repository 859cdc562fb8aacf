"""One rank opens the store, the others connect."""

import os

import torch.distributed as dist


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank == 0:
        store = dist.TCPStore("10.0.0.1", 29800, world, True)
    else:
        store = dist.TCPStore("10.0.0.1", 29800, world, False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    dist.destroy_process_group()
