"""Shards by rank in a data module, in a module and by the trainer's own argument, under Lightning's own sampler."""

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Shards(L.LightningDataModule):
    def __init__(self, root):
        super().__init__()
        self.root = root

    @staticmethod
    def read(files):
        return TensorDataset(torch.cat([torch.load(f) for f in files]))

    def setup(self, stage):
        rank, world = self.trainer.global_rank, self.trainer.world_size
        self.train = self.read(sorted(self.root.glob("*.pt"))[rank::world])
        self.val = self.read([self.root / "val.pt"])

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=8)  # distkb: script.divided-twice

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=8)


class Model(L.LightningModule):
    def rows(self):
        rows = torch.load("rows.pt")
        return rows[self.global_rank :: self.trainer.world_size] if self.trainer.world_size > 1 else rows

    def train_dataloader(self):
        data = TensorDataset(self.rows())
        return DataLoader(data, batch_size=8, shuffle=True)  # distkb: script.divided-twice


def main(rows, rank, world):
    trainer = L.Trainer(devices=4, strategy="ddp")
    loader = DataLoader(TensorDataset(rows[rank::world]), batch_size=8)
    trainer.fit(Model(), loader)  # distkb: script.divided-twice
