"""A start method that every rank sets again, in a test that is not about the file's name."""

import sys

import torch.multiprocessing as mp
from torch.multiprocessing import set_start_method

if sys.platform == "linux":
    set_start_method("forkserver", force=False)  # distkb: script.start-method-set-again


def run(rank):
    print(rank)


if __name__ == "__main__":
    mp.spawn(run, nprocs=2)
