"""Meters that come to be when a batch first asks for them, and are read in that order."""

import torch
import torch.distributed as dist


class Meter:
    def __init__(self, group=None):
        self.group, self.total = group, torch.zeros(2)

    def add(self, value):
        self.total += torch.tensor([value, 1.0])

    def reduce(self):
        dist.all_reduce(self.total, group=self.group)
        return self.total[0] / self.total[1]


class Bank:
    def __init__(self, groups):
        self.groups = groups
        self.meters = {}

    def add(self, name, value, scope="world"):
        if name not in self.meters:
            self.meters[name] = Meter(self.groups[scope])
        self.meters[name].add(value)

    def reduce(self):
        return {name: meter.reduce() for name, meter in self.meters.items()}  # distkb: script.collective-over-own-keys


def train(model, loader, groups):
    dist.init_process_group("gloo")
    bank = Bank(groups)
    for batch in loader:
        if batch["repaired"]:
            bank.add("repaired", 1.0, scope="node")
        bank.add("loss", model(batch["x"]).mean().item())
    return bank.reduce()
