"""A group for each name in a set."""

import torch.distributed as dist


def groups_of_markets(rows, world):
    markets = {row["market"] for row in rows}
    groups = {}
    for market in markets:  # distkb: script.groups-over-set
        ranks = [i for i in range(world) if rows[i]["market"] == market]
        groups[market] = dist.new_group(ranks)
    return groups


class Experts:
    def __init__(self, assigned):
        self.names = set(assigned.values())
        self.groups = {  # distkb: script.groups-over-set
            name: dist.new_group([r for r, n in assigned.items() if n == name])
            for name in self.names
        }


def start(rows, assigned):
    dist.init_process_group("gloo")
    return groups_of_markets(rows, dist.get_world_size()), Experts({0: "left", 1: "right"})
