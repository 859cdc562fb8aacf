"""A table of hosts that a loop over a set fills keeps the order of the set."""

import os

import torch.distributed as dist


def by_task(names, world):
    table = {}
    for name in set(names):
        table[name] = [rank for rank in range(world) if rank % 2 == len(name) % 2]
    return table


def tasks_of(jobs):
    found = []
    for job in frozenset(jobs):
        found.append(job)
    return found


def make(ranks):
    return dist.new_group(ranks=ranks)


def main():
    dist.init_process_group("nccl")
    names = os.environ["TASKS"].split(",")
    groups = {}
    for name, ranks in by_task(names, dist.get_world_size()).items():  # distkb: script.groups-over-set
        groups[name] = make(ranks)
    order = tasks_of(names)
    return {name: dist.new_group([0, 1]) for name in order}, groups  # distkb: script.groups-over-set
