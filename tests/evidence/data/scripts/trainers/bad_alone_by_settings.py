import os

import pytorch_lightning as pl

SETTINGS = {"accelerator": "gpu", "max_epochs": 20}


class Run:
    def __init__(self, module):
        self.module = module
        self.rank = int(os.environ.get("RANK", 0))
        self.devices = [0]

    def fit(self, loader):
        trainer = pl.Trainer(devices=self.devices, accelerator=SETTINGS["accelerator"])  # distkb: script.trainer-for-one-device
        trainer.fit(self.module, loader)
        if self.rank == 0:
            print("done")
