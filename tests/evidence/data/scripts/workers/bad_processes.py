"""Processes begun anew with a function that they cannot find, and a data set given by name."""

import multiprocessing

import h5py
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, path):
        self.store = h5py.File(path, "r")  # distkb: script.handle-shared-by-workers

    def __getitem__(self, index):
        return self.store["images"][index]


def loader(path):
    return DataLoader(dataset=Images(path), num_workers=4)


def launch(world):
    def worker(rank):
        print(rank, world)

    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=worker, args=(rank,)) for rank in range(world)]  # distkb: script.spawn-of-local
    for process in started:
        process.start()
