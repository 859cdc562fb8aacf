"""The ranks bring a measure together."""

import lightning as L
import torch
from lib import Net


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, b, i):
        return torch.nn.functional.cross_entropy(self.net(b[0]), b[1])

    def validation_step(self, b, i):
        acc = (self.net(b[0]).argmax(1) == b[1]).float().mean()
        self.log("val_acc", acc, on_epoch=True, prog_bar=True, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

import lightning as L
from lib import tl, vl

L.Trainer(devices=4, strategy="ddp", max_epochs=10).fit(Lit(), tl(), vl())
