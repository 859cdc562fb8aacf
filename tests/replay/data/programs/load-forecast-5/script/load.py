import math

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, ctx, horizon, stride):
        self.s, self.ctx, self.h = series, ctx, horizon
        self.starts = range(0, len(series) - ctx - horizon, stride)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        a = self.starts[i]
        w = self.s[a:a + self.ctx + self.h]
        return w[:self.ctx], w[self.ctx:]


class LoadData(L.LightningDataModule):
    """Hourly load of one feeder, two years, generated when the parquet file is not around."""

    def __init__(self, ctx=96, horizon=24, batch_size=64):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        g = torch.Generator().manual_seed(1)
        t = torch.arange(24 * 365 * 2).float()
        y = (1.2 * torch.sin(2 * math.pi * t / 24 - 1) + 0.4 * torch.sin(4 * math.pi * t / 24)
             + 0.5 * (torch.floor(t / 24) % 7 < 5).float() + 0.6 * torch.cos(2 * math.pi * t / 8760)
             + 0.15 * torch.randn(len(t), generator=g))
        y = (y - y.mean()) / y.std()
        cut = int(0.85 * len(y))
        p = self.hparams
        self.train = Windows(y[:cut], p.ctx, p.horizon, 6)
        self.val = Windows(y[cut:], p.ctx, p.horizon, 24)

    def train_dataloader(self):
        return DataLoader(self.train, self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.hparams.batch_size)
