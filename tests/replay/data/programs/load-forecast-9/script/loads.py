import math

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


def household_series(hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours)
    day = torch.sin(2 * math.pi * (t - 7) / 24) + 0.4 * torch.sin(4 * math.pi * t / 24)
    week = 0.3 * torch.sin(2 * math.pi * t / 168)
    return day + week + 0.15 * torch.randn(hours, generator=g)


class Loads(L.LightningDataModule):
    def __init__(self, houses=6, hours=600, context=72, horizon=24, batch_size=64):
        super().__init__()
        self.save_hyperparameters()

    def windows(self, seeds):
        p, xs, ys = self.hparams, [], []
        for s in seeds:
            z = household_series(p.hours, s)
            hour = torch.arange(p.hours) % 24 / 24.0
            for i in range(0, p.hours - p.context - p.horizon, 4):
                xs.append(torch.stack([z[i:i + p.context], hour[i:i + p.context]], -1))
                ys.append(z[i + p.context:i + p.context + p.horizon])
        return TensorDataset(torch.stack(xs), torch.stack(ys))

    def setup(self, stage):
        self.train = self.windows(range(self.hparams.houses))
        self.val = self.windows([1001, 1002])

    def train_dataloader(self):
        return DataLoader(self.train, self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.hparams.batch_size)
