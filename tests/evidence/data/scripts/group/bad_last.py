"""Every rank keeps the group that the loop has made last."""

import torch.distributed as dist


def make_pods(size):
    for first in range(0, dist.get_world_size(), size):
        members = list(range(first, first + size))
        pod = dist.new_group(members)  # distkb: script.last-group-for-all
    return pod


def average(grads):
    dist.all_reduce(grads, group=make_pods(2))
