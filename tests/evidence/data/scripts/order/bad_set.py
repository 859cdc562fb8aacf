import torch
import torch.distributed as dist

REPORTED = {"loss", "recall"}


def totals(tags):
    present = set(tags)
    found = {}
    for tag in present:
        count = torch.tensor([float(tags.count(tag))])
        dist.all_reduce(count)  # distkb: script.collective-over-set
        found[tag] = count
    return found


def report(values):
    for name, value in {name: values[name] for name in REPORTED}.items():
        dist.broadcast(value, 0)  # distkb: script.collective-over-set
    for name in list(REPORTED | {"f1"}):
        dist.all_reduce(values[name])  # distkb: script.collective-over-set
