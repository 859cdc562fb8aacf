"""The states of all ranks are gathered, and each takes its own."""

import random

import lightning as L
import torch.distributed as dist
from net import Model, loader


class KeepsRandom(L.Callback):
    def state_dict(self):
        states = [None] * dist.get_world_size()
        dist.all_gather_object(states, random.getstate())
        return {"random": states}

    def load_state_dict(self, state_dict):
        version, numbers, rest = state_dict["random"][dist.get_rank()]
        random.setstate((version, tuple(numbers), rest))


trainer = L.Trainer(devices=2, strategy="ddp", max_epochs=8, callbacks=[KeepsRandom()])
trainer.fit(Model(), loader, ckpt_path="last")
