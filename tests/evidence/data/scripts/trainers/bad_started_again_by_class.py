import os
from dataclasses import dataclass
from datetime import datetime

import pytorch_lightning as pl


@dataclass
class Settings:
    gpus: int = 4
    out: str = "runs"


class Experiment:
    def __init__(self, settings):
        self.settings = settings
        stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
        self.folder = os.path.join(settings.out, stamp)
        os.makedirs(self.folder, exist_ok=True)  # distkb: script.directory-by-each-start

    def run(self, module, data):
        trainer = pl.Trainer(devices=self.settings.gpus, strategy="ddp", accelerator="gpu")
        trainer.fit(module, data)


def main(module, data):
    Experiment(Settings()).run(module, data)
