from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.plugins import AsyncCheckpointIO, TorchCheckpointIO
from lightning.pytorch.strategies import DDPStrategy

CHECKPOINT_IO = {"torch": TorchCheckpointIO, "async": AsyncCheckpointIO}


class EpochPrinter(Callback):
    def on_validation_epoch_end(self, trainer, module):
        if trainer.is_global_zero and not trainer.sanity_checking:
            m = {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()}
            print(f"epoch {trainer.current_epoch} step {trainer.global_step} {m}", flush=True)


def make_strategy(c):
    return DDPStrategy(
        process_group_backend="gloo",
        bucket_cap_mb=c["bucket_cap_mb"],
        static_graph=c["static_graph"],
        checkpoint_io=CHECKPOINT_IO[c["checkpoint_io"]]() if c.get("checkpoint_io") else None,
    )


def make_plugins(args):
    plugins = []
    if args.background_save:
        plugins.append(AsyncCheckpointIO())
    return plugins


def make_callbacks(c):
    return [ModelCheckpoint(dirpath=c["checkpoint_dir"], monitor="val_iou", mode="max", save_last=True), EpochPrinter()]
