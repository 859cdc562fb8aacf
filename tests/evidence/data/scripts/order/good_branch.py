"""Branches that make other calls, or the same ones in the same order; a set in a fixed order."""

import torch.distributed as dist


class Corpus:
    def __init__(self, rows):
        self.rows = rows

    @property
    def languages(self):
        return {row["language"] for row in self.rows}


def tie(weight, pair):
    dist.all_reduce(weight.grad, group=pair)


def finish(is_first, weight, total, pair):
    if is_first:
        tie(weight, pair)
        dist.all_reduce(total)
    else:
        tie(weight, pair)
        dist.all_reduce(total)


def exchange(is_first, weight, pair):
    if is_first:
        dist.send(weight, 1)
        dist.recv(weight, 1)
    else:
        dist.recv(weight, 0)
        dist.send(weight, 0)


def main(rows, counts):
    for name in sorted(Corpus(rows).languages):
        dist.all_reduce(counts[name])
