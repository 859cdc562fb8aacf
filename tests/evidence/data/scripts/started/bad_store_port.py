import os

import torch.distributed as dist


class Progress:
    def __init__(self, rank, world):
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        self.store = dist.TCPStore(host, port, world, is_master=rank == 0)  # distkb: script.store-on-taken-port


def main():
    dist.init_process_group("nccl")
    Progress(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
