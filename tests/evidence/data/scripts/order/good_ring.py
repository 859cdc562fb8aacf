"""Pairs that close to no ring, that even and odd ranks take in opposite order, or in which nobody waits."""

import torch.distributed as dist

rank, world = dist.get_rank(), dist.get_world_size()


class Halo:
    def __init__(self):
        self.pairs = []
        for first in range(world):
            self.pairs.append(dist.new_group(sorted([first, (first + 1) % world])))

    def exchange(self, edge):
        own, other = self.pairs[rank], self.pairs[(rank - 1) % world]
        for pair in (own, other) if rank % 2 == 0 else (other, own):
            dist.all_reduce(edge, group=pair)

    def together(self, edge):
        works = [dist.all_reduce(edge[0], group=self.pairs[rank], async_op=True)]
        works.append(dist.all_reduce(edge[1], group=self.pairs[(rank - 1) % world], async_op=True))
        for work in works:
            work.wait()

    def once(self, edge):
        dist.all_reduce(edge, group=self.pairs[rank])
        dist.all_reduce(edge, group=self.pairs[rank])


def grid(width, x):
    rows = [dist.new_group(list(range(first, first + width))) for first in range(0, world, width)]
    columns = [dist.new_group(list(range(first, world, width))) for first in range(width)]
    dist.all_reduce(x, group=rows[rank // width])
    dist.all_reduce(x, group=columns[rank % width])


def halves(x):
    pairs = [dist.new_group([first, first + world // 2]) for first in range(world // 2)]
    dist.all_reduce(x, group=pairs[rank % (world // 2)])
    dist.all_reduce(x, group=pairs[rank % (world // 2)])
