"""A callback of Trainer that stops at a step, or at a gathered loss, which are the same on every rank."""

from transformers import Trainer, TrainerCallback, TrainingArguments


class Budget(TrainerCallback):
    def __init__(self, steps):
        self.steps = steps

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step >= self.steps:
            control.should_training_stop = True
        return control

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        if metrics["eval_loss"] > 4 * state.best_metric:
            control.should_training_stop = True


Trainer(model=None, args=TrainingArguments("out"), callbacks=[Budget(60)]).train()
