"""A callback that averages pieces."""

import lightning as L
import torch
from parts import Data, Net


class EmaCallback(L.Callback):
    def __init__(self, decay=0.999):
        self.decay = decay
        self.weights = None

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.weights is None:
            self.weights = {
                k: v.detach().clone() for k, v in pl_module.named_parameters()
            }
        for k, v in pl_module.named_parameters():  # distkb: script.average-of-pieces
            self.weights[k].lerp_(v.detach(), 1 - self.decay)


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, b, i):
        return self.net.loss(b)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


L.Trainer(strategy="deepspeed_stage_3", devices=4, callbacks=[EmaCallback()]).fit(
    Lit(), datamodule=Data()
)
