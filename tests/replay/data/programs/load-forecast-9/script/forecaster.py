import lightning as L
import torch
from torch import nn


class LoadForecaster(L.LightningModule):
    def __init__(self, horizon=24, hidden=48, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h[:, -1])

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.smooth_l1_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", (self(x) - y).abs().mean(), sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)}
