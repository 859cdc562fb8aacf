"""Data sets that take what they need out of a file and leave it."""

import h5py
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.mean = self.file["mean"][:]
        self.count = self.file["frames"].shape[0]
        self.file.close()
        self.path, self.handle = path, None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.handle is None:
            self.handle = h5py.File(self.path, "r")
        return self.handle["frames"][index] - self.mean[0]


class Whole(Dataset):
    def __init__(self, path):
        with h5py.File(path, "r") as source:
            self.images = source["images"][()]

    def __getitem__(self, index):
        return self.images[index]


def loaders(path):
    return DataLoader(Frames(path), 8, num_workers=4), DataLoader(Whole(path), 8, num_workers=4)
