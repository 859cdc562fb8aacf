"""Loaders that start their workers anew with what can be sent, and others that fork."""

import sqlite3
import threading

import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path, transform=None):
        self.path, self.transform, self.db = path, transform, None
        with sqlite3.connect(path) as db:
            self.count = db.execute("select count(*) from t").fetchone()[0]
        self.names = sorted([path], key=lambda name: name[-1])

    def __getitem__(self, index):
        if self.db is None:
            self.db = sqlite3.connect(self.path)
        return self.db.execute("select x from t where id = ?", (index,)).fetchone()


class Guarded(Dataset):
    def __init__(self):
        self.lock = threading.Lock()

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.lock = threading.Lock()

    def __getitem__(self, index):
        return index


class Opened(Dataset):
    def __init__(self, path):
        self.file = open(path)
        self.lines = self.file.read().splitlines()
        self.file = None
        self.lock = threading.Lock()
        del self.lock

    def __getitem__(self, index):
        return self.lines[index]


class Local(Dataset):
    def __init__(self, scale):
        self.scale = lambda x: x * scale

    def __getitem__(self, index):
        return self.scale(index)


def collate(rows):
    return rows


def loaders(path):
    spawn = mp.get_context("spawn")
    return [
        DataLoader(Rows(path, str), num_workers=2, multiprocessing_context=spawn, collate_fn=collate),
        DataLoader(Guarded(), num_workers=2, multiprocessing_context="forkserver"),
        DataLoader(Opened(path), num_workers=2, multiprocessing_context="spawn"),
        DataLoader(Local(2), num_workers=0, multiprocessing_context=None),
        DataLoader(Local(2), num_workers=2, collate_fn=lambda rows: rows),
        DataLoader(Local(2), num_workers=2, multiprocessing_context="fork"),
    ]
