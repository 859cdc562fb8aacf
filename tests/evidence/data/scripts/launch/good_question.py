"""Questions that nobody asks in a rank: before the ranks are started, only at a terminal, or by another name."""

import sys

import torch.distributed as dist
import torch.multiprocessing as mp


def agrees(question):
    if not sys.stdin.isatty():
        return True
    return input(question) == "y"


def apply(input, model):
    return input(model)


def train(rank, world):
    dist.init_process_group("gloo", rank=rank, world_size=world)
    if rank == 0 and not agrees("go on?"):
        return
    apply(print, None)
    loss = world * rank
    loss.backward()
    dist.destroy_process_group()


def label():
    return input("name of the run: ")


def main():
    world = int(input("how many? "))
    print(label())
    mp.spawn(train, args=(world,), nprocs=world)


if __name__ == "__main__":
    main()
