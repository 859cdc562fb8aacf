"""One process opens the store, or each has one of its own."""

import os

import torch.distributed as dist

RANK = int(os.environ["RANK"])


def serve(port):
    return dist.TCPStore("127.0.0.1", port, is_master=True)


def main():
    dist.init_process_group("gloo")
    own = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store = dist.TCPStore("127.0.0.1", 29501, 2, RANK == 0)
    if RANK == 0:
        serve(29502)
        extra = dist.TCPStore("127.0.0.1", 29503, is_master=True)
    return own, store


main()
