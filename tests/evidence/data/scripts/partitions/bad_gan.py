"""Two optimizers of a module of Lightning's."""

import lightning as L
import torch
from parts import D, Data, G


class Gan(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = G(), D()

    def configure_optimizers(self):
        return [  # distkb: script.two-models-one-engine
            torch.optim.Adam(self.g.parameters()),
            torch.optim.Adam(self.d.parameters()),
        ]

    def training_step(self, batch, i):
        og, od = self.optimizers()
        loss = self.d(self.g(batch)).mean()
        self.manual_backward(loss)
        og.step()
        od.step()


L.Trainer(strategy="deepspeed_stage_2", devices=2).fit(Gan(), datamodule=Data())
