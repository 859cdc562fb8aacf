"""Handles that workers share, and functions that a new process cannot find."""

import h5py
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path, offsets):
        self.file = open(path, "rb")  # distkb: script.handle-shared-by-workers
        self.offsets = offsets

    def __getitem__(self, index):
        self.file.seek(self.offsets[index])
        return self.file.readline()


class Images(Dataset):
    def __init__(self, path):
        self.store = h5py.File(path, "r")  # distkb: script.handle-shared-by-workers

    def __getitem__(self, index):
        return self.store["images"][index]


def loaders(path, offsets):
    lines = Lines(path, offsets)
    return DataLoader(lines, batch_size=4, num_workers=2), DataLoader(Images(path), num_workers=4)


def launch(world):
    def worker(rank):
        print(rank, world)

    mp.spawn(worker, nprocs=world)  # distkb: script.spawn-of-local
    mp.spawn(lambda rank: print(rank), nprocs=world)  # distkb: script.spawn-of-local


mp.spawn(print, nprocs=2)  # distkb: script.spawn-without-guard
