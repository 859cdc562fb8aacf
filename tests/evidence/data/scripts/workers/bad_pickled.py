"""Loaders that start their workers anew, and what cannot be sent to these."""

import sqlite3
import threading

import h5py
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset, Subset


class Base(Dataset):
    def __init__(self, path, transform=None):
        self.db = sqlite3.connect(path)  # distkb: script.dataset-not-picklable
        self.path, self.transform = path, transform

    def __getitem__(self, index):
        return self.transform(self.db.execute("select x from t where id = ?", (index,)).fetchone())


class Rows(Base):
    def __len__(self):
        return 10


class Images(Dataset):
    def __init__(self, paths, scale):
        self.stores = {path: h5py.File(path, "r") for path in paths}  # distkb: script.dataset-not-picklable
        self.lock = threading.Lock()  # distkb: script.dataset-not-picklable
        self.scale = lambda x: x * scale  # distkb: script.dataset-not-picklable

    def __getitem__(self, index):
        return index


def loaders(path, workers):
    context = mp.get_context("spawn")
    rows = Rows(path, lambda row: row[0])  # distkb: script.dataset-not-picklable
    first = DataLoader(rows, num_workers=workers, multiprocessing_context=context)
    images = Images([path], 2)
    return first, DataLoader(
        Subset(images, [0, 1]),
        num_workers=4,
        multiprocessing_context="forkserver" if workers else None,
        collate_fn=lambda rows: rows,  # distkb: script.dataset-not-picklable
    )
