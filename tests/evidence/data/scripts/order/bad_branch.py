"""Two stages that make the same collectives in another order; a set that is reached through a property."""

import torch.distributed as dist


class Corpus:
    def __init__(self, rows):
        self.rows = rows

    @property
    def languages(self):
        return {row["language"] for row in self.rows}


def tie(weight, pair):
    dist.all_reduce(weight.grad, group=pair)


def clip(total):
    dist.all_reduce(total)


def finish(is_first, weight, total, pair):
    if is_first:  # distkb: script.order-by-branch
        tie(weight, pair)
        clip(total)
    else:
        clip(total)
        tie(weight, pair)


def report(counts, names):
    for name in names:
        dist.all_reduce(counts[name])  # distkb: script.collective-over-set


def main(rows, counts):
    corpus = Corpus(rows)
    names = corpus.languages
    report(counts, names)
