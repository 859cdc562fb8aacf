"""What decides is a setting, which is the same on every rank."""

import argparse

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exact", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    if args.exact:
        total = torch.zeros(1, dtype=torch.float64)
    else:
        total = torch.zeros(1)
    dist.all_reduce(total)
    for batch in range(3):
        flags = torch.tensor(1 if args.exact else 0.5)
        dist.all_reduce(flags)
