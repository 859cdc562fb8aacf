"""What one process does; each function returns what it saw, all of it is printed as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from shown import see, tell
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset


def without_rank() -> str:
    """The error of init_process_group where nothing set RANK."""
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name, None)
    try:
        dist.init_process_group("gloo")
    except ValueError as error:
        return str(error)
    return ""


def split(samples: int, rank: int, *, shuffle: bool) -> DistributedSampler[Any]:
    """The sampler of one of two ranks over so many samples."""
    indexed: Any = range(samples)
    return DistributedSampler(indexed, num_replicas=2, rank=rank, shuffle=shuffle)


def order_without_set_epoch() -> list[bool]:
    """Whether two epochs of a sampler have the same order: without set_epoch, with it."""
    sampler = split(64, 0, shuffle=True)
    first, second = list(sampler), list(sampler)
    sampler.set_epoch(1)
    return [first == second, first == list(sampler)]


def sampler_repeats() -> list[object]:
    """How many of 5 samples each of 2 ranks gets, and the one that both have."""
    ranks = [list(split(5, rank, shuffle=False)) for rank in range(2)]
    return [[len(one) for one in ranks], sorted(set(ranks[0]) & set(ranks[1]))]


def drop_last_does_not_even_out() -> list[int]:
    """Numbers of batches of loaders over 8 and 10 samples, both with drop_last."""
    return [len(DataLoader(range(count), batch_size=2, drop_last=True)) for count in (8, 10)]  # type: ignore[arg-type]


class Three(IterableDataset[int]):
    """Three numbers, whatever the worker."""

    def __iter__(self):  # type: ignore[no-untyped-def]
        """Yield them."""
        yield from range(3)


def iterable_repeats_in_workers() -> int:
    """How many samples two workers bring of an iterable data set of three that does not split itself."""
    return sum(len(batch) for batch in DataLoader(Three(), num_workers=2))


def sampler_and_shuffle() -> str:
    """The error of a loader that gets both."""
    try:
        DataLoader(range(4), sampler=range(4), shuffle=True)  # type: ignore[arg-type]
    except ValueError as error:
        return str(error)
    return ""


def small_update_in_bfloat16() -> float:
    """1 and a thousandth of it, in bfloat16."""
    return float(torch.ones((), dtype=torch.bfloat16) + torch.tensor(0.001, dtype=torch.bfloat16))


def clipping_lets_nan_through() -> list[bool]:
    """Whether clip_grad_norm_ raised on a NaN by itself, and whether the other gradients are NaN then."""
    model = nn.Linear(2, 1, bias=False)
    model.weight.grad = torch.tensor([[float("nan"), 1.0]])
    raised = False
    try:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    except RuntimeError:
        raised = True
    return [raised, bool(model.weight.grad.isnan().all())]


def halves_are_not_unscaled() -> str:
    """The error of the scaler where the parameters themselves are fp16."""
    model = nn.Linear(1, 1).half()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu")
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    scaler.scale(torch.ones(1))
    try:
        scaler.unscale_(optimizer)
    except ValueError as error:
        return str(error)
    return ""


def batchnorm_of_one_value() -> str:
    """The error of BatchNorm in training mode with a batch of one."""
    try:
        nn.BatchNorm1d(2).train()(torch.ones(1, 2))
    except ValueError as error:
        return str(error)
    return ""


SHOWN: tuple[Callable[[], object], ...] = (
    without_rank,
    order_without_set_epoch,
    sampler_repeats,
    drop_last_does_not_even_out,
    iterable_repeats_in_workers,
    sampler_and_shuffle,
    small_update_in_bfloat16,
    clipping_lets_nan_through,
    halves_are_not_unscaled,
    batchnorm_of_one_value,
)

if __name__ == "__main__":
    tell(see(SHOWN))
