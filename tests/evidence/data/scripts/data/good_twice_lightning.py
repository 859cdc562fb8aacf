"""A trainer that leaves the samplers alone, and data that only the trainer divides."""

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Shards(L.LightningDataModule):
    def setup(self, stage):
        rank, world = self.trainer.global_rank, self.trainer.world_size
        self.train = TensorDataset(torch.load("rows.pt")[rank::world])

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=8, drop_last=True)


def main(model):
    trainer = L.Trainer(devices=4, strategy="ddp", **{"use_distributed_sampler": False})
    trainer.fit(model, datamodule=Shards())
