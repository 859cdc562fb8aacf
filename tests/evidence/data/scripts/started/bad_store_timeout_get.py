from datetime import timedelta

import torch.distributed as dist


class Board:
    def __init__(self, rank):
        self.store = dist.TCPStore("a", 29711, None, rank == 0)  # distkb: script.store-keeps-default-timeout

    def path(self):
        return self.store.get("path").decode()


def main():
    dist.init_process_group("gloo", timeout=timedelta(minutes=45))
    Board(dist.get_rank()).path()
    dist.destroy_process_group()
