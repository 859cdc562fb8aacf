"""Processes begun anew with a function of the module, and a data set that opens its file in the worker."""

import multiprocessing

import h5py
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, path):
        self.path, self.store = path, None

    def __getitem__(self, index):
        if self.store is None:
            self.store = h5py.File(self.path, "r")
        return self.store["images"][index]


def loader(path):
    return DataLoader(dataset=Images(path), num_workers=4)


def worker(rank, world):
    print(rank, world)


def launch(world):
    context = multiprocessing.get_context("spawn")
    for rank in range(world):
        context.Process(target=worker, args=(rank, world)).start()


if __name__ == "__main__":
    launch(2)
