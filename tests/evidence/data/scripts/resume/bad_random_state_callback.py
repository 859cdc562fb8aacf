"""A callback of the project keeps Python's state; nothing seeds, so the ranks differed before."""

import random

import lightning as L
from net import Model, loader


class KeepsRandom(L.Callback):
    def state_dict(self):
        return {"random": random.getstate()}

    def load_state_dict(self, state_dict):
        version, numbers, rest = state_dict["random"]
        random.setstate((version, tuple(numbers), rest))  # distkb: script.one-random-state-by-hooks


trainer = L.Trainer(devices=2, strategy="ddp", max_epochs=8, callbacks=[KeepsRandom()])
trainer.fit(Model(), loader, ckpt_path="last")
