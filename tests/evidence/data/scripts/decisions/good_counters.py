"""Counters beside batches in one dictionary, questions whether something is there, and settings named like data."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Corpus:
    """What to train on."""

    epochs = 3


def exists(value):
    return value is not None


def gather_sizes(x):
    sizes = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([float(x.shape[0])]))
    return sizes


def gathered(x, sizes=None):
    if not exists(sizes):
        sizes = gather_sizes(x)
    return sizes


def fit(state, loader, data: Corpus):
    epoch = 0
    while epoch < data.epochs:
        for batch in loader:
            if state["step"] >= state["limit"]:
                return
            loss = state["model"](batch).mean()
            loss.backward()
            state["last"] = loss.item()
            state["step"] += 1
            if state["step"] % 100 == 0:
                dist.barrier()
        epoch += 1


def main(loader, corpus: Corpus):
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(4, 4))
    first = next(iter(loader))
    state = {"model": model, "batch": first, "step": 0, "limit": 1000, "last": 0.0}
    gathered(first)
    fit(state, loader, corpus)
    dist.destroy_process_group()
