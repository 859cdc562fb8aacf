"""Streams that are divided over ranks too, by themselves or by who makes them."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        info = get_worker_info()
        files = self.files if info is None else self.files[info.id :: info.num_workers]
        for name in files:
            yield from open(name)


class Own(IterableDataset):
    def __init__(self, files):
        self.files = files[dist.get_rank() :: dist.get_world_size()]

    def __iter__(self):
        info = get_worker_info()
        for name in self.files[info.id :: info.num_workers]:
            yield from open(name)


def main(net, files):
    mine = Lines(files[dist.get_rank() :: dist.get_world_size()])
    loaders = [DataLoader(data, batch_size=8, num_workers=2) for data in (mine, Own(files))]
    return DistributedDataParallel(net), loaders
