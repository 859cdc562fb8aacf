"""A file that a data set is given."""

import h5py
import lightning as L
import torch
from net import Lit
from torch.utils.data import DataLoader, Dataset


class Cells(Dataset):
    def __init__(self, handle):
        self.handle = handle  # distkb: script.handle-shared-by-workers

    def __len__(self):
        return self.handle["x"].shape[0]

    def __getitem__(self, i):
        return torch.from_numpy(self.handle["x"][i])


class Data(L.LightningDataModule):
    def setup(self, stage=None):
        self.file = h5py.File("cells.h5", "r")
        self.train_set = Cells(self.file)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, num_workers=6, shuffle=True)


L.Trainer(devices=2, strategy="ddp").fit(Lit(), datamodule=Data())
