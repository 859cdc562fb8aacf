"""Functions that build data loaders, sound and faulty, as training code has them."""

# ruff: noqa: TID253, D103 - training code; each name says what is right or wrong
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info
from torch.utils.data.distributed import DistributedSampler


class Numbers(Dataset[torch.Tensor]):
    """As many numbers as were asked for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        """Return the size."""
        return self.size

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return the number."""
        if index >= self.size:
            raise IndexError(index)
        return torch.tensor([float(index)])


class Stream(IterableDataset[torch.Tensor]):
    """Numbers one after the other, divided by rank and worker where asked."""

    def __init__(self, size: int, *, ranks: bool = True, workers: bool = True) -> None:
        self.size, self.ranks, self.workers = size, ranks, workers

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield this process's part."""
        part, parts = (dist.get_rank(), dist.get_world_size()) if self.ranks else (0, 1)
        info = get_worker_info()
        if info is not None and self.workers:
            part, parts = part * info.num_workers + info.id, parts * info.num_workers
        for number in range(part, self.size, parts):
            yield torch.tensor([float(number)])


class Stubborn(DistributedSampler[torch.Tensor]):
    """Forgets the epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Do nothing."""


def sampled(size: int = 96, **more: Any) -> DataLoader[torch.Tensor]:
    data = Numbers(size)
    return DataLoader(data, batch_size=4, sampler=DistributedSampler(data, **more))


def good() -> DataLoader[torch.Tensor]:
    loader = sampled()
    assert isinstance(loader.sampler, DistributedSampler)
    loader.sampler.set_epoch(0)
    return loader


def after_a_barrier() -> DataLoader[torch.Tensor]:
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    assert int(os.environ["RANK"]) == dist.get_rank()
    dist.barrier()
    return good()


def first_of_two(rank: int, world_size: int) -> tuple[DataLoader[torch.Tensor], DataLoader[torch.Tensor]]:
    assert rank < world_size
    return good(), DataLoader(Numbers(3))


def sliced(rank: int, world_size: int) -> DataLoader[torch.Tensor]:
    return DataLoader(Subset(Numbers(96), range(rank, 96, world_size)), batch_size=4, shuffle=True)


def stream_good() -> DataLoader[torch.Tensor]:
    return DataLoader(Stream(96), batch_size=4, num_workers=2)


def padded() -> DataLoader[torch.Tensor]:
    return sampled(97)


def no_sampler() -> DataLoader[torch.Tensor]:
    return DataLoader(Numbers(96), batch_size=4, shuffle=True)


def longer_by_rank(rank: int, world_size: int) -> DataLoader[torch.Tensor]:  # noqa: ARG001
    return DataLoader(Numbers(40 + 4 * rank), batch_size=4)


def seeds(rank: int, world_size: int) -> DataLoader[torch.Tensor]:  # noqa: ARG001
    return sampled(400, seed=rank)


def wrong_world(rank: int, world_size: int) -> DataLoader[torch.Tensor]:  # noqa: ARG001
    return sampled(400, num_replicas=8, rank=rank)


def divided_twice(rank: int, world_size: int) -> DataLoader[torch.Tensor]:
    data = Subset(Numbers(400), range(rank, 400, world_size))
    return DataLoader(data, batch_size=4, sampler=DistributedSampler(data))


def stubborn() -> DataLoader[torch.Tensor]:
    data = Numbers(96)
    return DataLoader(data, batch_size=4, sampler=Stubborn(data))


def stream_same() -> DataLoader[torch.Tensor]:
    return DataLoader(Stream(96, ranks=False), batch_size=4)


def stream_uneven() -> DataLoader[torch.Tensor]:
    return DataLoader(Stream(98), batch_size=4)


def stream_workers() -> DataLoader[torch.Tensor]:
    return DataLoader(Stream(96, workers=False), batch_size=4, num_workers=2)


def small_batches_on_one(rank: int, world_size: int) -> DataLoader[torch.Tensor]:  # noqa: ARG001
    data = Numbers(96)
    return DataLoader(data, batch_size=4 if rank else 2, sampler=DistributedSampler(data))


def fails_on_one(rank: int, world_size: int) -> DataLoader[torch.Tensor]:  # noqa: ARG001
    if rank == 1:
        raise ValueError("no shard 1")
    return good()


def fails() -> DataLoader[torch.Tensor]:
    raise ValueError("no data")


def number() -> int:
    return 5


def endless() -> DataLoader[torch.Tensor]:
    while True:
        pass
