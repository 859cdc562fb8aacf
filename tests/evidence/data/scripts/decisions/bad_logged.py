"""Callbacks and hooks that decide by a number which each rank has logged for itself."""

import lightning as L
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback
from torch import nn


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.best = 0.0

    def step(self, batch, stage):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log(f"{stage}/loss", loss, on_epoch=True)
        return loss

    def training_step(self, batch, batch_idx):
        return self.step(batch, "train")

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log_dict({"recall": (self.net(x).argmax(-1) == y).float().mean()})
        self.step(batch, "val")

    def on_validation_epoch_end(self):
        recall = self.trainer.callback_metrics.get("recall")
        if recall > 0.99:  # distkb: script.decided-by-own-measure
            self.trainer.should_stop = True
        if recall > self.best:  # distkb: script.saved-by-own-measure
            self.best = recall
            self.keep()

    def keep(self):
        self.trainer.save_checkpoint("best.ckpt")


class KeepBest(Callback):
    def __init__(self, path, monitor="val/loss"):
        self.path, self.monitor, self.best = path, monitor, float("inf")

    def on_validation_end(self, trainer, pl_module):
        metrics = trainer.callback_metrics
        value = metrics[self.monitor].item()
        if value < self.best:  # distkb: script.saved-by-own-measure
            self.best = value
            trainer.save_checkpoint(self.path)


def main(data):
    L.Trainer(devices=2, strategy="ddp", callbacks=[KeepBest("best.ckpt")]).fit(Model(), data)
