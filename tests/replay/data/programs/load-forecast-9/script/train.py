import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger

from forecaster import LoadForecaster
from loads import Loads


class EpochLine(Callback):
    def on_validation_epoch_end(self, trainer, module):
        if trainer.is_global_zero and not trainer.sanity_checking:
            m = trainer.callback_metrics
            print(f"epoch {trainer.current_epoch} step {trainer.global_step} "
                  f"val_mae {m['val_mae']:.4f}", flush=True)


def main():
    L.seed_everything(3)
    torch.set_num_threads(1)
    print("torch", torch.__version__, "lightning", L.__version__, flush=True)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, num_nodes=1, strategy="ddp", max_epochs=4,
        logger=CSVLogger("csv", name="loads"), callbacks=[EpochLine()],
        enable_progress_bar=False, log_every_n_steps=5,
    )
    trainer.fit(LoadForecaster(), datamodule=Loads())
    trainer.save_checkpoint("loads.ckpt")
    if trainer.is_global_zero:
        print("wrote loads.ckpt", flush=True)


if __name__ == "__main__":
    main()
