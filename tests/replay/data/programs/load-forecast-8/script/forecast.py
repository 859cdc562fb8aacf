"""Day-ahead load forecast for a few substations (Lightning)."""
import argparse
import math

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAST, AHEAD = 96, 24


class Substations(Dataset):
    def __init__(self, n_sites=8, hours=2000, seed=0, split="train"):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(hours).float()
        series = []
        for _ in range(n_sites):
            a, b, c = torch.rand(3, generator=g)
            day = (1 + a) * torch.sin(2 * math.pi * t / 24 + 6 * b)
            week = 0.5 * c * torch.sin(2 * math.pi * t / 168)
            noise = 0.15 * torch.randn(hours, generator=g)
            series.append(day + week + noise)
        self.series = torch.stack(series)
        cut = int(hours * 0.8)
        lo, hi = (0, cut) if split == "train" else (cut, hours)
        self.index = [(s, i) for s in range(n_sites) for i in range(lo, hi - PAST - AHEAD, 3)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, k):
        s, i = self.index[k]
        w = self.series[s, i:i + PAST + AHEAD]
        return w[:PAST], w[PAST:]


class LoadData(L.LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        self.train, self.val = Substations(split="train"), Substations(split="val")

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size)


class Forecaster(L.LightningModule):
    def __init__(self, hidden=48, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, AHEAD)

    def forward(self, x):
        _, h = self.rnn(x.unsqueeze(-1))
        return self.head(h[-1])

    def training_step(self, batch, _):
        loss = nn.functional.smooth_l1_loss(self(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        mae = (self(batch[0]) - batch[1]).abs().mean()
        self.log("val_mae", mae, prog_bar=True, sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.trainer.max_epochs)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=2)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--out", default="out")
    args = p.parse_args()

    L.seed_everything(3)
    torch.set_float32_matmul_precision("high")
    trainer = L.Trainer(
        accelerator="gpu",
        devices=args.devices,
        strategy="ddp",
        max_epochs=args.epochs,
        log_every_n_steps=10,
        enable_progress_bar=False,
        logger=CSVLogger(args.out),
        callbacks=[
            ModelCheckpoint(monitor="val_mae", save_top_k=1),
            EarlyStopping("val_mae", patience=3, verbose=True),
        ],
    )
    trainer.fit(Forecaster(args.hidden), LoadData(args.batch_size))
    if trainer.is_global_zero:
        print("best", trainer.checkpoint_callback.best_model_path, float(trainer.checkpoint_callback.best_model_score))


if __name__ == "__main__":
    main()
