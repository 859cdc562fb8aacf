"""A step of Lightning's that gives no loss."""

import lightning as L
import torch
from parts import Data, Net


class Asr(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, batch_idx):
        audio, text = batch
        loss = self.net(audio, text)
        if not torch.isfinite(loss):
            self.print("bad loss, skipping", batch_idx)
            return None  # distkb: script.step-without-loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


L.Trainer(devices=4, strategy="ddp").fit(Asr(), datamodule=Data())
