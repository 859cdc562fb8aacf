import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn

from data import BearingData


class Bearing(L.LightningModule):
    def __init__(self, width=24, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv1d(1, width, 15, stride=2), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(width, width * 2, 7), nn.BatchNorm1d(width * 2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width * 2, 4),
        )

    def training_step(self, batch, idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", nn.functional.cross_entropy(out, y), sync_dist=True)
        self.log("val_acc", (out.argmax(-1) == y).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return [opt], [sched]


class EpochReport(Callback):
    def on_train_epoch_start(self, trainer, module):
        self.t0 = time.time()

    def on_train_epoch_end(self, trainer, module):
        m = trainer.callback_metrics
        sec = time.time() - self.t0
        seen = trainer.num_training_batches * trainer.datamodule.batch_size
        print(f"[{time.strftime('%H:%M:%S')}] epoch {trainer.current_epoch} step {trainer.global_step} "
              f"batches {trainer.num_training_batches} train_loss {m['train_loss']:.4f} "
              f"val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.3f} {seen / sec:.0f} samples/s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    L.seed_everything(5)
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="auto",
        devices="auto",
        strategy="auto",
        enable_progress_bar=False,
        log_every_n_steps=20,
        logger=CSVLogger("logs", name="bearing"),
        callbacks=[EpochReport(), ModelCheckpoint(dirpath="logs/ckpt", monitor="val_loss", filename="best")],
    )
    model, data = Bearing(), BearingData()
    trainer.fit(model, datamodule=data)
    print("best", trainer.checkpoint_callback.best_model_path)
