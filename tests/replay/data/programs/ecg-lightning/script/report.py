import csv
import os

from lightning.pytorch.callbacks import Callback

NAMES = ["normal", "wide", "late"]


class EpochReport(Callback):
    """One line per epoch on the console, and the confusion matrix as csv next to the metrics."""

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.global_rank == 0:
            print(f"epoch {trainer.current_epoch} begins, {trainer.num_training_batches} batches", flush=True)

    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.sanity_checking:
            pl_module.confmat.reset()
            return
        if trainer.is_global_zero:
            table = pl_module.confmat.compute().tolist()
            path = os.path.join(trainer.default_root_dir, f"confusion_{trainer.current_epoch:02d}.csv")
            with open(path, "w", newline="") as f:
                w = csv.writer(f)
                w.writerow([""] + NAMES)
                for name, row in zip(NAMES, table):
                    w.writerow([name] + row)
            print(f"epoch {trainer.current_epoch} val_acc {pl_module.val_acc.compute():.3f} -> {path}", flush=True)
        pl_module.confmat.reset()
