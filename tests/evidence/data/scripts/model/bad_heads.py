"""Heads that the batch picks."""

import lightning as L
import torch
from torch import nn

from data import Mixed


class MultiTask(L.LightningModule):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Linear(128, 128)
        self.heads = nn.ModuleDict(
            {name: nn.Linear(128, n) for name, n in tasks.items()}
        )

    def training_step(self, batch, idx):
        h = self.trunk(batch["x"]).relu()
        task = batch["task"][0]
        logits = self.heads[task](h)  # distkb: script.part-picked-by-batch
        return nn.functional.cross_entropy(logits, batch["y"])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


L.Trainer(devices=2, strategy="ddp").fit(
    MultiTask({"a": 3, "b": 5}), datamodule=Mixed()
)
