"""Objects of several classes, or of none of the project's, are not taken for one."""

import torch
import torch.distributed as dist


class Local:
    def value(self):
        return 1.0


class Together:
    def value(self):
        total = torch.ones(1)
        dist.all_reduce(total)
        return total.item()


def report(meter, rank):
    if rank == 0:
        print(meter.value())


def shared(meter):
    print(meter.value())


def own(meter, rank):
    if rank == 0:
        print(meter.value())


def main(rank, foreign):
    report(Local(), rank)
    report(Together(), rank)
    shared(Together())
    own(Local(), rank)
    report(foreign, rank)
