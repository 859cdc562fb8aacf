"""Data sets that keep a part of a file which they open when they are made."""

import h5py
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # distkb: script.handle-shared-by-workers
        self.frames = self.file["frames"]

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        return self.frames[index]


class Fields(Dataset):
    def __init__(self, path):
        source = h5py.File(path, "r")
        self.fields = source["fields"]  # distkb: script.handle-shared-by-workers

    def __getitem__(self, index):
        return self.fields[index : index + 2]


def loaders(path):
    return DataLoader(Frames(path), 8, num_workers=4), DataLoader(Fields(path), 8, num_workers=4)
