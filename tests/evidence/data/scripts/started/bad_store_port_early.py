import os

import torch.distributed as dist
from torch.distributed import TCPStore


def main(rank, world):
    port = int(os.environ.get("MASTER_PORT", "29500"))
    store = TCPStore("10.0.0.1", port, world, rank == 0)  # distkb: script.store-on-taken-port
    store.add("ready", 1)
    dist.init_process_group("gloo")
    dist.destroy_process_group()
