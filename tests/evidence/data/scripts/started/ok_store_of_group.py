import os
from datetime import timedelta

import torch.distributed as dist


def main(rank, world):
    port = int(os.environ["MASTER_PORT"])
    store = dist.TCPStore("10.0.0.1", port, world, rank == 0, timeout=timedelta(hours=1))
    dist.init_process_group("nccl", store=store, rank=rank, world_size=world, timeout=timedelta(hours=1))
    store.wait(["ready"])
    dist.destroy_process_group()
