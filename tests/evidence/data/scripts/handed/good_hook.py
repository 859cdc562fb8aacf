"""A callback that saves on one."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from lit import Lit, loader


class Export(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            torch.save(pl_module.net.state_dict(), f"weights/epoch{trainer.current_epoch}.pt")


L.Trainer(devices=4, accelerator="gpu", strategy="ddp", callbacks=[Export()], max_epochs=3).fit(Lit(), loader())
