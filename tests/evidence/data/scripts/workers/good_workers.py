"""Handles of the worker's own, and functions at the top of the file."""

import h5py
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path, offsets):
        self.path = path
        self.file = None
        with open(path) as header:
            self.first = header.readline()
        self.offsets = offsets

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")
        self.file.seek(self.offsets[index])
        return self.file.readline()


class Whole(Dataset):
    def __init__(self, path):
        self.file = open(path)

    def __getitem__(self, index):
        self.file.seek(index)
        return self.file.read(1)


class Loaded(Dataset):
    def __init__(self, path):
        self.store = h5py.File(path, "r")
        self.images = self.store["images"][:]
        self.store.close()

    def __getitem__(self, index):
        return self.images[index]


class Counted(Dataset):
    def __init__(self, path):
        self.store = h5py.File(path, "r")
        self.images = self.store["images"][:]

    def __getitem__(self, index):
        return self.images[index]


def work(rank):
    print(rank)


def main(path):
    DataLoader(Lines(path, [0]), num_workers=2)
    DataLoader(Loaded(path), num_workers=2)
    DataLoader(Counted(path), num_workers=2)
    DataLoader(Whole(path), num_workers=0)
    mp.spawn(work, nprocs=2)


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
