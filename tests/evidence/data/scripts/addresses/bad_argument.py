"""The port is an argument, the host the launcher's: torchrun listens at a port of its own."""

import argparse
import os

import torch.distributed as dist


def setup(port, backend):
    address = "tcp://{}:{}".format(os.environ["MASTER_ADDR"], port)
    rank = int(os.getenv("RANK", "0"))
    dist.init_process_group(backend, address, rank=rank, world_size=int(os.getenv("WORLD_SIZE", "1")))  # distkb: script.address-by-hand


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=23456)
    args = parser.parse_args()
    setup(args.port, "gloo")
    dist.destroy_process_group()
