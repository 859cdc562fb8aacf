"""Every process of a machine opens the store."""

import os

import torch.distributed as dist

RANK = int(os.environ["RANK"])
NODE_RANK = int(os.environ.get("GROUP_RANK", 0))


class Queue:
    def __init__(self, port):
        self.store = dist.TCPStore("127.0.0.1", port, 2, is_master=NODE_RANK == 0)  # distkb: script.store-opened-by-all


def main():
    dist.init_process_group("gloo")
    queue = Queue(29501)
    other = dist.TCPStore("127.0.0.1", 29502, is_master=True)  # distkb: script.store-opened-by-all
    return queue, other


main()
