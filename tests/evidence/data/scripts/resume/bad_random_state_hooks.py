"""A module's hooks keep NumPy's and torch's states, through helpers, after each rank had its own seed."""

import numpy as np
import pytorch_lightning as pl
import torch
from net import Net, loader


def states():
    return {"torch": torch.get_rng_state(), "numpy": np.random.get_state()}


def restore(kept):
    torch.set_rng_state(kept["torch"].cpu())  # distkb: script.one-random-state-by-hooks
    np.random.set_state(kept["numpy"])


class Model(pl.LightningModule):
    def __init__(self, seed):
        super().__init__()
        self.net, self.seed = Net(), seed

    def setup(self, stage):
        torch.manual_seed(self.seed + self.trainer.global_rank)

    def on_save_checkpoint(self, checkpoint):
        checkpoint["random"] = states()

    def on_load_checkpoint(self, checkpoint):
        restore(checkpoint["random"])

    def training_step(self, batch, index):
        return self.net(batch + torch.randn_like(batch)).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-4)


pl.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=20).fit(Model(3), loader, ckpt_path="last")
