import os

import torch.distributed as dist


def beside(rank):
    return dist.TCPStore("10.0.0.1", int(os.environ["MASTER_PORT"]) + 1, is_master=rank == 0)


def main(rank):
    dist.init_process_group("nccl")
    beside(rank).add("seen", 1)
    dist.destroy_process_group()
