import logging

import torch.distributed as dist

log = logging.getLogger("recs.parallel")


class MarketGroups:
    """Which ranks hold data of which market. Heads are averaged among the holders only,
    the towers over everybody."""

    def __init__(self, shards, markets, world):
        self.world = world
        self.holders = {}
        for i, s in enumerate(shards):
            if s.market in markets:
                self.holders.setdefault(s.market, set()).add(i % world)
        self.groups = {}
        for market in markets:
            ranks = sorted(self.holders[market])
            self.groups[market] = dist.new_group(ranks)
            log.info("market %s: ranks %s", market, ranks)

    def average_heads(self, heads, rank):
        for market, group in self.groups.items():
            if rank not in self.holders[market]:
                continue
            n = len(self.holders[market])
            for p in heads[market].parameters():
                dist.all_reduce(p.data, group=group)
                p.data /= n

    def average_towers(self, towers):
        for p in towers.parameters():
            dist.all_reduce(p.data)
            p.data /= self.world
