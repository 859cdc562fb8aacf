import argparse
import os
import socket

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from load import LoadData


class NBlock(nn.Module):
    def __init__(self, ctx, horizon, width):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(ctx, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.back, self.fore = nn.Linear(width, ctx), nn.Linear(width, horizon)

    def forward(self, x):
        h = self.fc(x)
        return x - self.back(h), self.fore(h)


class Forecaster(L.LightningModule):
    def __init__(self, ctx=96, horizon=24, width=64, blocks=3, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.blocks = nn.ModuleList(NBlock(ctx, horizon, width) for _ in range(blocks))
        self.skip = nn.Linear(ctx, horizon)

    def forward(self, x):
        y = self.skip(x)
        for i, b in enumerate(self.blocks):
            x, f = b(x)
            y = y + f
        return y + self.skip(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.smooth_l1_loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", F.l1_loss(self(x), y), sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.trainer.max_epochs)}


class Report(Callback):
    def on_validation_epoch_end(self, trainer, module):
        if trainer.is_global_zero and not trainer.sanity_checking:
            m = trainer.callback_metrics
            print(f"epoch {trainer.current_epoch} val_mae {m['val_mae']:.4f}", flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--devices", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--out", default="logs")
    args = ap.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(7)
    name = f"run_{os.environ.get('SLURM_JOB_ID', 'local')}"
    print(f"{name} on {socket.gethostname()} pid {os.getpid()} devices {args.devices}", flush=True)

    trainer = L.Trainer(
        accelerator="cpu", devices=args.devices, strategy="ddp", max_epochs=args.epochs,
        enable_progress_bar=False, log_every_n_steps=5,
        logger=CSVLogger(args.out, name=name),
        callbacks=[Report(), ModelCheckpoint(monitor="val_mae", save_weights_only=True)],
    )
    trainer.fit(Forecaster(lr=args.lr), LoadData())
    if trainer.is_global_zero:
        print("best", trainer.checkpoint_callback.best_model_path)


if __name__ == "__main__":
    main()
