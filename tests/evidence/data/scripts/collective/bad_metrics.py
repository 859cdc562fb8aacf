"""Metrics that one rank computes, as Lightning's hooks, callbacks and modules have them."""

import lightning as L
import torch
import torchmetrics
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix


class Grader(L.LightningModule):
    def __init__(self, grades):
        super().__init__()
        self.table = MulticlassConfusionMatrix(grades)
        self.scores = MetricCollection({"acc": MulticlassAccuracy(grades), "f1": torchmetrics.F1Score("multiclass")})
        self.by_split = nn.ModuleDict({name: MulticlassAccuracy(grades) for name in ("val", "test")})
        self.val_scores = self.scores.clone(prefix="val/")

    @rank_zero_only
    def report(self):
        print(self.table.compute())  # distkb: script.hidden-collective-on-some-ranks

    def on_validation_epoch_end(self):
        if self.global_rank == 0:
            print(self.val_scores.compute())  # distkb: script.hidden-collective-on-some-ranks

    def on_test_epoch_end(self):
        if not self.trainer.is_global_zero:
            return
        print(self.by_split["test"].compute())  # distkb: script.hidden-collective-on-some-ranks
        self.log_dict({"done": 1.0}, sync_dist=True)


class Table(L.Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.show(pl_module)  # distkb: script.hidden-collective-on-some-ranks

    def show(self, pl_module):
        rows = pl_module.table.compute()
        print(rows)

    def on_fit_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            pl_module.log_dict({"loss": 1.0}, sync_dist=True)  # distkb: script.hidden-collective-on-some-ranks


class Wrapped(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.mse = torchmetrics.MeanSquaredError().to("cuda")


def evaluate(model, rank, loader):
    for x, y in loader:
        model.module.mse.update(model(x), y)
    if rank == 0:
        error = model.module.mse.compute()  # distkb: script.hidden-collective-on-some-ranks
        torch.save(error, "error.pt")
