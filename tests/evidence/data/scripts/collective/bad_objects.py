"""Objects that are handed on, returned or kept in attributes make the collectives."""

import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.total = torch.zeros(1)

    def value(self):
        dist.all_reduce(self.total)
        return self.total.item()


class State:
    def __init__(self, meter):
        self.meter = meter


def make_meter():
    return Meter()


class Loop:
    def __init__(self, meter, rank):
        self.meter = meter
        self.rank = rank

    def report(self):
        if self.rank == 0:
            print(self.meter.value())  # distkb: script.collective-on-some-ranks


def report(state, rank):
    if rank == 0:
        print(state.meter.value())  # distkb: script.collective-on-some-ranks


def annotated(meter: Meter, rank):
    if rank == 0:
        print(meter.value())  # distkb: script.collective-on-some-ranks


def main():
    rank = dist.get_rank()
    meter = make_meter()
    Loop(meter, rank).report()
    report(State(meter), rank)
