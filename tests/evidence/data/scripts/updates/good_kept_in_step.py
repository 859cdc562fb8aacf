"""Values without graphs, lists that are emptied for each batch, and steps without gradients."""

from collections import deque

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)
        self.teacher = nn.Linear(4, 4)
        self.clean, self.hits, self.aux, self.val_losses = [], 0, [], []
        self.names, self.far = [], []
        self.recent = deque(maxlen=8)

    def forward(self, x):
        return self.net(x)

    @torch.no_grad()
    def measure(self, x, y):
        return F.l1_loss(self(x), y)

    def shared(self, batch, stage):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        if stage == "val":
            self.clean.append(loss)
        return loss

    def on_train_batch_start(self, batch, batch_idx):
        self.aux.clear()

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        loss = F.mse_loss(out, y)
        with torch.no_grad():
            self.far.append(F.l1_loss(self(x), y))
        self.clean.append(self.measure(x, y))
        self.clean.append(loss.detach())
        self.clean.append(float(loss))
        self.hits += (out.argmax(-1) == y).sum()
        self.aux.append(out.mean())
        self.recent.append(loss)
        self.names.append(batch_idx)
        return loss + torch.stack(self.aux).sum() + self.shared(batch, "train")

    def validation_step(self, batch, batch_idx):
        self.val_losses.append(self.shared(batch, "val"))


class Weighted(Trainer):
    losses = []

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss = super().compute_loss(model, inputs)
        self.losses.append(loss.item())
        return loss


def reinforce(policy, steps, optimizer):
    kept = []
    for state in steps:
        kept.append(policy(state).log_prob(state))
        if len(kept) == 8:
            torch.stack(kept).sum().backward()
            optimizer.step()
            del kept[:]


def train(model, loader, optimizer):
    total = right = 0.0
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        right += (out.argmax(-1) == y).float().mean()
    return total, right
