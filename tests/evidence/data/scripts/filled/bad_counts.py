"""Sums under keys that the batches bring: in a local dictionary, one that is handed on, and one that is returned."""

from collections import defaultdict

import torch
import torch.distributed as dist


def per_task(model, loader):
    sums = defaultdict(lambda: torch.zeros(2))
    for batch in loader:
        if batch["pairs"]:
            sums["rank"] += torch.tensor([float(model(batch["x"])), 1.0])
        else:
            sums["class"] += torch.tensor([float(model(batch["x"])), 1.0])
    for name in sums:
        dist.all_reduce(sums[name])  # distkb: script.collective-over-own-keys
    return sums


def mean(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()


def averaged(totals):
    return {k: mean(v) for k, v in totals.items()}  # distkb: script.collective-over-own-keys


def collect(loader):
    seen = {}
    for batch in loader:
        for task in batch["task"]:
            seen.setdefault(task, torch.zeros(1)).add_(1)
    return seen


def main(model, loader):
    dist.init_process_group("gloo")
    per_task(model, loader)
    totals = {}
    for batch in loader:
        name = batch["language"][0]
        if name not in totals:
            totals[name] = torch.zeros(1)
        totals[name] += model(batch["x"]).mean()
    averaged(totals)
    seen = collect(loader)
    for key, count in list(seen.items()):
        dist.all_reduce(count)  # distkb: script.collective-over-own-keys
        print(key, count)
