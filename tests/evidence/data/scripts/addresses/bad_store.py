"""A store of the script's own that every rank connects to."""

import os
from datetime import timedelta

import torch.distributed as dist

PORT = 29777


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.TCPStore("127.0.0.1", PORT, world, timeout=timedelta(seconds=60))  # distkb: script.store-nobody-opens
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    dist.destroy_process_group()
