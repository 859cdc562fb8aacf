from datetime import timedelta

import torch.distributed as dist


def main(rank):
    dist.init_process_group("nccl", timeout=timedelta(hours=2))
    store = dist.TCPStore("10.0.0.1", 29711, is_master=rank == 0)
    store.wait(["ready"], timedelta(hours=2))
    dist.destroy_process_group()
