"""A connection in an object of the data set."""

import sqlite3

import torch
from accelerate import Accelerator
from lib import Net
from torch.utils.data import DataLoader, Dataset


class Store:
    def __init__(self, path):
        self.conn = sqlite3.connect(path, check_same_thread=False)

    def row(self, i):
        return self.conn.execute("select x from t where id=?", (i,)).fetchone()


class Rows(Dataset):
    def __init__(self, path):
        self.store = Store(path)  # distkb: script.handle-shared-by-workers

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return torch.tensor(self.store.row(i))


accelerator = Accelerator()
net, dl = accelerator.prepare(Net(), DataLoader(Rows("a.db"), 8, num_workers=4))
for x in dl:
    net(x)
