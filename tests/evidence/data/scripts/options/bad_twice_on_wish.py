import argparse

import pytorch_lightning as pl
from pytorch_lightning.plugins import AsyncCheckpointIO, CheckpointIO, TorchCheckpointIO
from pytorch_lightning.strategies import DDPStrategy


class ShortNames(CheckpointIO):
    def save_checkpoint(self, checkpoint, path, storage_options=None):
        TorchCheckpointIO().save_checkpoint(checkpoint, path)


def strategy_of(args):
    return DDPStrategy(checkpoint_io=ShortNames() if args.short_names else None)


def plugins_of(args):
    found = []
    if args.background:
        found.append(AsyncCheckpointIO())
    return found


def main(module, data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--short-names", action="store_true")
    parser.add_argument("--background", action="store_true")
    args = parser.parse_args()
    trainer = pl.Trainer(devices=2, strategy=strategy_of(args), plugins=plugins_of(args))  # distkb: script.option-may-be-given-twice
    trainer.fit(module, data)
