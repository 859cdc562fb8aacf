from argparse import ArgumentParser

import torch
from torch import distributed as dist


class Options:
    def __init__(self):
        parser = ArgumentParser()
        add = parser.add_argument
        add("--epochs", type=int, default=3)
        parser.add_argument("--local_rank", "-l", default=0, type=int)  # distkb: script.local-rank-from-arguments
        self.given = parser.parse_args()


def main():
    options = Options().given
    torch.cuda.set_device(options.local_rank)
    dist.init_process_group("nccl")
    dist.destroy_process_group()
