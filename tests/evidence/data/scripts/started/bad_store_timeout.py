from datetime import timedelta

import torch.distributed as dist

LIMIT = timedelta(hours=2)


def unpack(rank):
    store = dist.TCPStore("10.0.0.1", 29711, is_master=rank == 0)  # distkb: script.store-keeps-default-timeout
    if rank == 0:
        store.set("ready", "1")
    store.wait(["ready"])


def main():
    dist.init_process_group("nccl", timeout=LIMIT)
    unpack(dist.get_rank())
    dist.destroy_process_group()
