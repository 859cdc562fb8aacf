"""Metrics that every rank computes, that compute for one rank alone, or that have their result already."""

import evaluate
import lightning as L
import torch
import torch.distributed as dist
import torchmetrics
from lightning.pytorch.utilities import rank_zero_only
from torchmetrics.classification import MulticlassAccuracy
from torchmetrics.functional import accuracy


class Tally:
    def __init__(self):
        self.seen = 0

    def compute(self):
        return self.seen


class Grader(L.LightningModule):
    def __init__(self, grades):
        super().__init__()
        self.acc = MulticlassAccuracy(grades)
        self.own = MulticlassAccuracy(grades, sync_on_compute=False)
        self.tally = Tally()

    def on_validation_epoch_end(self):
        value = self.acc.compute()
        if self.trainer.is_global_zero:
            print(value, self.own.compute())
        self.log("acc", self.acc, sync_dist=True)

    @rank_zero_only
    def report(self):
        print(self.tally.compute())

    @rank_zero_only
    def log_rate(self, rate):
        self.log("rate", rate, rank_zero_only=True)


def read_twice(rank, loader, model):
    error = torchmetrics.MeanSquaredError()
    for x, y in loader:
        error.update(model(x), y)
    error.compute()
    if rank == 0:
        print(error.compute())


def alone(rank, loader, model):
    metric = torchmetrics.MeanMetric()
    with metric.sync_context(should_sync=False):
        if rank == 0:
            print(metric.compute())


def functional(rank, output, target):
    if rank == 0:
        print(accuracy(output, target, task="binary"))


def gathered(rank, output, target):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, (output, target))
    metric = evaluate.load("accuracy")
    if rank == 0:
        print(metric.compute(predictions=parts, references=target))


def best(loader, model, rank):
    metric = torchmetrics.MeanMetric()
    top = 0.0
    for x in loader:
        metric.update(model(x))
    if metric.compute() > top:
        dist.barrier()
        if rank == 0:
            torch.save(model, "best.pt")


def other(rank, engine):
    if rank == 0:
        engine.table.compute()
