import json
from dataclasses import dataclass

import torch.distributed as dist


@dataclass
class Config:
    heads: list

    @property
    def active(self):
        return {head.name for head in self.heads if head.weight > 0}

    @classmethod
    def load(cls, path):
        with open(path) as file:
            return cls(**json.load(file))


class Scores:
    def __init__(self, config):
        self.active = config.active
        self.counts = {}

    def reduce(self):
        for name in self.active:
            dist.all_reduce(self.counts[name])  # distkb: script.collective-over-set


def main():
    config = Config.load("config.json")
    dist.init_process_group("nccl")
    scores = Scores(config)
    scores.reduce()


main()
