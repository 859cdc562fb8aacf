import os

import torch.distributed as dist


class Board:
    def __init__(self):
        port = int(os.environ["MASTER_PORT"])
        self.store = dist.TCPStore(os.environ["MASTER_ADDR"], port)  # distkb: script.store-keys-stay

    def tell(self, rank, address):
        self.store.set(f"address-{rank}", address)


def main(rank):
    Board().tell(rank, "a:1")
    dist.init_process_group("nccl")
    dist.destroy_process_group()
