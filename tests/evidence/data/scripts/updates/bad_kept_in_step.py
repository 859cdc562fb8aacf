"""Values kept with their graphs, where a trainer calls the step, and in an expression of their own."""

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)
        self.clean, self.outputs, self.sums = [], [], {"aux": 0.0}
        self.criterion = nn.MSELoss()

    def forward(self, x):
        return self.net(x)

    def remember(self, value):
        self.outputs.append({"value": value})  # distkb: script.graph-kept

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        loss = self.criterion(out, y)
        self.clean.append(F.l1_loss(self(x), y))  # distkb: script.graph-kept
        self.sums["aux"] += out.square().mean() * 0.1  # distkb: script.graph-kept
        self.remember(loss)
        return loss

    def on_train_epoch_end(self):
        self.log("clean", torch.stack(self.clean).mean(), sync_dist=True)
        self.clean.clear()


class Weighted(Trainer):
    losses = []

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = outputs.loss * 2
        self.losses.append(loss)  # distkb: script.graph-kept
        return (loss, outputs) if return_outputs else loss


def train(model, loader, optimizer):
    totals = {"mae": 0.0}
    for x, y in loader:
        out = model(x)
        F.mse_loss(out, y).backward()
        optimizer.step()
        totals["mae"] += F.l1_loss(out, y)  # distkb: script.graph-kept
    return totals
