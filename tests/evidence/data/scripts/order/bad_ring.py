"""Every rank waits in its own pair for the next one, which waits in a pair of its own."""

import torch
import torch.distributed as dist

rank, world = dist.get_rank(), dist.get_world_size()


class Halo:
    def __init__(self):
        self.pairs = []
        for first in range(world):
            self.pairs.append(dist.new_group(sorted([first, (first + 1) % world])))

    def exchange(self, edge):
        dist.all_reduce(edge[0], group=self.pairs[rank])
        dist.all_reduce(edge[1], group=self.pairs[(rank - 1) % world])  # distkb: script.ring-of-pairs


def gossip(weights):
    pairs = {first: dist.new_group([first, (first + 1) % world]) for first in range(world)}
    right, left = pairs[rank], pairs[(rank - 1) % world]
    for _ in range(4):
        dist.all_reduce(weights, group=right)
        dist.all_reduce(weights, group=left)  # distkb: script.ring-of-pairs
        weights /= 3


def kept(part):
    for first in range(world):
        pair = dist.new_group([first, (first + 1) % world])
        if rank == first:
            ahead = pair
        if rank == (first + 1) % world:
            behind = pair
    out = [torch.empty_like(part) for _ in range(2)]
    dist.all_gather(out, part, group=ahead)
    dist.all_gather(out, part, group=behind)  # distkb: script.ring-of-pairs
    return out
