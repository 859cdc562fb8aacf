import os
import time

import lightning as L


def main(module, data):
    stamp = os.environ.setdefault("RUN_STAMP", time.strftime("%m%d-%H%M%S"))
    folder = os.path.join("runs", stamp)
    os.makedirs(folder, exist_ok=True)
    trainer = L.Trainer(accelerator="gpu", devices=2, strategy="ddp", default_root_dir=folder)
    trainer.fit(module, data)
