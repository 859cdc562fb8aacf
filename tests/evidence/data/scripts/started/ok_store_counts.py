from datetime import timedelta

import torch.distributed as dist


def main(rank):
    dist.init_process_group("nccl", timeout=timedelta(seconds=120))
    store = dist.TCPStore("10.0.0.1", 29711, is_master=rank == 0)
    store.wait(["ready"])
    dist.destroy_process_group()
