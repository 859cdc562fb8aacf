import os

import torch.distributed as dist


def exchange(rank, world, port):
    store = dist.TCPStore("a", int(os.environ["MASTER_PORT"]), is_master=False)  # distkb: script.store-keys-stay
    store.set(f"port/{rank}", str(port))
    return [store.get(f"port/{r}").decode() for r in range(world)]


def main(rank, world):
    exchange(rank, world, 4000)
    dist.init_process_group("nccl")
    dist.destroy_process_group()
