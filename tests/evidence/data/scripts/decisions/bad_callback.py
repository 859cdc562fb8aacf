"""A callback that counts bad epochs."""

import lightning as L
import torch
import torch.nn.functional as F
from net import Net

from data import ForecastData


class Plateau(L.Callback):
    def __init__(self, patience=5):
        self.patience = patience
        self.best = None
        self.wait = 0

    def on_validation_epoch_end(self, trainer, pl_module):
        current = sum(pl_module.val_losses) / len(pl_module.val_losses)
        pl_module.val_losses.clear()
        if self.best is None or current < self.best:
            self.best = current
            self.wait = 0
            return
        self.wait += 1
        if self.wait >= self.patience:  # distkb: script.decided-by-own-measure
            trainer.should_stop = True


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.val_losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.val_losses.append(F.mse_loss(self.net(x), y).item())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


if __name__ == "__main__":
    trainer = L.Trainer(
        devices=4, strategy="ddp", max_epochs=100, callbacks=[Plateau()]
    )
    trainer.fit(Forecaster(), datamodule=ForecastData())
