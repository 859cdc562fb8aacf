"""A warm-up, prepared as attributes."""

import torch
from accelerate import Accelerator
from stuff import WARMUP, make_loader, make_model
from transformers import get_constant_schedule_with_warmup


class Trainer:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = make_model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 2e-4)
        self.lr_scheduler = get_constant_schedule_with_warmup(
            self.optimizer, num_warmup_steps=WARMUP
        )
        self.dl = make_loader()
        self.model, self.optimizer, self.dl, self.lr_scheduler = (
            self.accelerator.prepare(
                self.model, self.optimizer, self.dl, self.lr_scheduler
            )
        )

    def train(self):
        for batch in self.dl:
            self.accelerator.backward(self.model(**batch).loss)
            self.optimizer.step()
            self.lr_scheduler.step()  # distkb: script.fixed-schedule-prepared
            self.optimizer.zero_grad()


Trainer().train()
