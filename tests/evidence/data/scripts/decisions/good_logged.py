"""Callbacks and hooks that decide by a number which all ranks have in common."""

import lightning as L
import torch.nn.functional as F
import torchmetrics
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.recall = torchmetrics.Recall(task="binary")
        self.best = 0.0

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self.net(x)
        self.recall(out, y)
        self.log("recall", self.recall)
        self.log("val_loss", F.cross_entropy(out, y), sync_dist=True)
        self.log("val_mean", self.all_gather(out.mean()).mean())
        self.log("learning_rate", self.trainer.optimizers[0].param_groups[0]["lr"])

    def on_validation_epoch_end(self):
        recall = self.trainer.callback_metrics["recall"]
        if recall > self.best:
            self.best = recall
            self.trainer.save_checkpoint("best.ckpt")
        if self.trainer.callback_metrics["val_mean"] < 0.01:
            self.trainer.should_stop = True
        if self.trainer.callback_metrics["learning_rate"] < 1e-7:
            self.trainer.should_stop = True


class KeepBest(Callback):
    def __init__(self, path, monitor):
        self.path, self.monitor, self.best = path, monitor, float("inf")

    def on_validation_end(self, trainer, pl_module):
        val_loss = trainer.callback_metrics[self.monitor].item()
        if val_loss < self.best:
            self.best = val_loss
            trainer.save_checkpoint(self.path)


class Stop(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        bad = trainer.callback_metrics["train_loss"] > 10.0
        if trainer.strategy.reduce_boolean_decision(bool(bad), all=False):
            trainer.should_stop = True


def main(data):
    kept = [KeepBest("best.ckpt", "val_loss"), Stop(), ModelCheckpoint("all", monitor="train_loss")]
    L.Trainer(devices=2, strategy="ddp", callbacks=kept).fit(Model(), data)
