"""A callback of Trainer that stops by the rank's own clock."""

import time

from transformers import Trainer, TrainerCallback, TrainingArguments


class Budget(TrainerCallback):
    def __init__(self, seconds):
        self.seconds = seconds
        self.begin = time.monotonic()
        self.used = 0.0

    def on_evaluate(self, args, state, control, **kwargs):
        self.used += time.monotonic() - self.begin
        if self.used > self.seconds:  # distkb: script.decided-by-own-clock
            control.should_training_stop = True

    def on_step_end(self, args, state, control, **kwargs):
        if time.monotonic() - self.begin > self.seconds:  # distkb: script.decided-by-own-clock
            control.should_training_stop = True
        return control


Trainer(model=None, args=TrainingArguments("out"), callbacks=[Budget(60)]).train()
