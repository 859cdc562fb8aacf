"""Dictionaries in one order on all ranks: sorted, filled before, or by the step."""

from collections import defaultdict

import torch
import torch.distributed as dist

DOMAINS = ("news", "code", "chat")


class Meter:
    def __init__(self):
        self.total = torch.zeros(2)

    def add(self, value):
        self.total += torch.tensor([value, 1.0])

    def reduce(self):
        dist.all_reduce(self.total)


class Logger:
    def __init__(self):
        self.meters = defaultdict(Meter)

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].add(value)

    def reduce(self):
        for meter in self.meters.values():
            meter.reduce()


def in_order(model, loader):
    sums = defaultdict(lambda: torch.zeros(1))
    for batch in loader:
        if batch["pairs"]:
            sums["rank"] += model(batch["x"]).mean()
        else:
            sums["class"] += model(batch["x"]).mean()
    for name in sorted(sums):
        dist.all_reduce(sums[name])


def beforehand(loader):
    sums = {name: torch.zeros(1) for name in DOMAINS}
    for batch in loader:
        if batch["news"]:
            sums["news"] += 1
        else:
            sums["code"] += 1
    for total in sums.values():
        dist.all_reduce(total)


def in_turn(loader):
    sums = {}
    for name in DOMAINS:
        sums[name] = torch.zeros(1)
    for batch in loader:
        if batch["news"]:
            sums["news"] += 1
        else:
            sums["code"] += 1
    for total in sums.values():
        dist.all_reduce(total)


def by_step(model, loader):
    sums = {}
    for step, batch in enumerate(loader):
        sums["loss"] = model(batch["x"]).mean()
        if step % 10 == 0:
            sums["norm"] = sums["loss"] * 2
    for total in sums.values():
        dist.all_reduce(total)


def main(model, loader):
    dist.init_process_group("gloo")
    logger = Logger()
    for batch in loader:
        loss = model(batch["x"]).mean()
        logger.update(loss=loss.item(), size=len(batch["x"]))
    logger.reduce()
    in_order(model, loader)
    beforehand(loader)
    in_turn(loader)
    by_step(model, loader)
