"""Reentrant and unused, told to Lightning."""

import lightning as L
import torch
from parts import Block, Data
from torch import nn
from torch.utils.checkpoint import checkpoint


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=True)  # distkb: script.reentrant-with-unused
        return self.out(x)

    def training_step(self, batch, i):
        return self(batch).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


L.Trainer(devices=2, strategy="ddp_find_unused_parameters_true").fit(
    Lit(), datamodule=Data()
)
