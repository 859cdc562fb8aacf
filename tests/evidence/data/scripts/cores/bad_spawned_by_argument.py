import argparse

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel


def train(rank, options):
    dist.init_process_group("gloo", init_method=f"file://{options.store}", rank=rank, world_size=options.ranks)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    model(torch.randn(4, 8)).sum().backward()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--store", required=True)
    options = parser.parse_args()
    multiprocessing.start_processes(train, args=(options,), nprocs=options.ranks, start_method="spawn")  # distkb: script.spawned-without-threads


if __name__ == "__main__":
    main()
